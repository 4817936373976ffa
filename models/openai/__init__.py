"""Any server that speaks OpenAI's protocol: `--model openai`.

In the order of reading:

    adapter    the model: builds requests from instances, runs them, yields answers
    arguments  --model_args, checked; the key; what the model's name and the task leave to us
    messages   a prompt in the protocol's form, with its pictures and videos
    client/    asks the servers: attempts, connections, what replies say
"""
