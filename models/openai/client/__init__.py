"""The client of servers with OpenAI's protocol: from the body of a request to what the reply says.

In the order of reading:

    http       one question: attempts, waits, deadlines
    addresses  where each request goes
    servers    which server each attempt goes to, and outages
    flight     many questions at once, and the limit on attempts
    endpoint   fields that the endpoint refuses: dropped, renamed, recorded
    transport  connections, and replies of bounded size
    streams    replies that come as a stream of events
    statuses   what the status of a reply means
    errors     those that are retried, that concern one question, and that end the run
    replies    the text and the token counts of a reply
    redaction  secrets removed from what servers say
    tokens     how a server writes prompts, and the room for an answer
    served     what a server says of the model that it serves
    scores     log-likelihoods of continuations
    logprobs   log-probabilities in a reply
"""
