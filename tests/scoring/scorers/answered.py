"""What the scorer tests share: the instances of a doc as a model has answered them."""

from mm_eval.scorers import build_scorer
from mm_eval.values.types import Instance


def generated(doc_id, answers, target, doc=None, **kwargs):
    return [
        Instance("generate_until", "t", doc_id, doc or {}, repeat=i, target=target, resps=[answer], **kwargs)
        for i, answer in enumerate(answers)
    ]


def choices(doc_id, lls, target, texts="abcdef", greedy=()):
    return [
        Instance(
            "loglikelihood", "t", doc_id, {}, continuation=" " + text, choice=i, target=target, resps=[(ll, i in greedy)],
            metadata={"choice_text": text},
        )
        for i, (ll, text) in enumerate(zip(lls, texts, strict=False))
    ]  # fmt: skip


def gen(config=None, kind=None, **kwargs):
    return build_scorer({"name": "none", **(config or {})}, "generate_until", kind, **kwargs)
