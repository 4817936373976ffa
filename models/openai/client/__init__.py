"""The client of servers with OpenAI's protocol. It knows requests and replies, and nothing of instances' pictures.

In the order of reading:

    http       one question: attempts, waits, deadlines
    servers    many questions at once; which server each attempt goes to
    transport  connections, replies of bounded size, the meaning of a status
    replies    what a reply says; the errors Passing, Fatal and Closed
    redaction  secrets removed from what servers say
    tokens     how a server writes prompts, the room for an answer, log-likelihoods of continuations
"""
