"""Any server that speaks OpenAI's protocol: `--model openai`.

A request passes through these files, in the order of reading:

    adapter     the model: builds requests from instances, runs them, yields answers
    arguments   --model_args, checked; the key; secrets removed from texts
    http        one question: attempts, waits, deadlines
    servers     many questions at once; which server each attempt goes to
    transport   connections, replies of bounded size, the meaning of a status
    replies     what a reply says; the errors Passing, Fatal and Closed
    scores      log-likelihoods of continuations
"""
