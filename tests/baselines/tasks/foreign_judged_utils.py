"""Code of a task as lmms-eval has it: its process_results asks the judge by itself and waits between its questions."""

import time

from lmms_eval.llm_judge import Request, ServerConfig, get_server

server = get_server(server_name="openai", config=ServerConfig(model_name="gpt-4o-2024-11-20", max_tokens=128))


def asked(doc, lmms_eval_specific_kwargs=None):
    return doc["q"]


def graded(doc, results):
    score = None
    while score is None:
        prompt = f"{doc['q']}\nReference: {doc['a']}\nAnswer: {results[0]}"
        reply = server.evaluate(Request(messages=[{"role": "user", "content": prompt}]))
        if reply.content in ("GRADE: C", "GRADE: I"):
            score = float(reply.content == "GRADE: C")
        else:
            time.sleep(60)
    return {"gpt_eval_score": {"score": score, "model": reply.model_used}}


def total(results):
    return 100 * sum(result["score"] for result in results) / len(results)
