"""Any server that speaks OpenAI's protocol: `--model openai`.

A request passes through these files, in the order of reading:

    adapter     the model: builds requests from instances, runs them, yields answers
    arguments   --model_args, checked; the key; secrets removed from texts; what the model's name and the task leave to us
    messages    a prompt in the protocol's form, with its pictures and videos
    http        one question: attempts, waits, deadlines
    servers     many questions at once; which server each attempt goes to
    transport   connections, replies of bounded size, the meaning of a status
    replies     what a reply says; the errors Passing, Fatal and Closed
    tokens      how a server writes prompts, the room for an answer, log-likelihoods of continuations
"""
