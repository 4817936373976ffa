"""Every format of a thinking model and every edge case, on 30 shipped tasks: each doc gets the marks of the plain answer."""

from __future__ import annotations

from typing import Any

import pytest

from mm_eval.prepare import prepare_without_model
from mm_eval.request import RunRequest
from mm_eval.scoring.gold import gold_texts
from mm_eval.scoring.score_task import TaskScoring
from mm_eval.values.reasoning.families import marks_of
from mm_eval.values.reasoning.recorded import Reading
from mm_eval.values.types import Answer, Slot

from .formats import ANSWERED, CUT, FORMATS, USER_TAGS

TASKS = (
    "mme", "seedbench", "mmmu_val", "mmstar", "muirbench", "blink", "scienceqa_img", "realworldqa", "cv_bench", "countbenchqa",
    "seedbench_2_plus", "mathvision_testmini", "logicvista", "ai2d", "docvqa_val", "infovqa_val", "chartqa", "textvqa_val",
    "ocrbench", "vqav2_val", "gqa", "mmbench_cn_dev", "hallusion_bench_image", "pope", "gsm8k", "math500", "videomme",
    "mvbench", "nextqa_mc", "vsi_bench",
)  # fmt: skip
DOCS = 3
WHY = "Is it A, B, C, 7 or yes? The picture shows a red bus, so the answer is zzqx.\n\nFinal answer: zzqx"


def rows(task: Any, style: Any, scorers: Any, docs: list[int], answers: dict[int, str], **known: Any) -> list[Any]:
    """(scores, what was read) of each doc with an answer."""
    reading = Reading(marks_of(USER_TAGS))

    def lookup(slot: Slot) -> Answer:
        return reading.read(Answer(answers[slot.doc_id], **known), [Answer("x</think>B")])

    scored = list(TaskScoring(task, style, scorers, lookup).samples(docs))
    return [(row["status"], row["scores"], row["rules"]) for row in scored]


@pytest.mark.parametrize(
    "name", [TASKS[0], TASKS[1], "docvqa_val", *(pytest.param(n, marks=pytest.mark.slow) for n in TASKS[2:])]
)
def test_every_format_gives_the_numbers_of_the_plain_answer(name: str) -> None:
    request = RunRequest.of_options((name,), model="dummy", sample=True, limit=DOCS, no_judge=True)
    opened = prepare_without_model(request, _only(request))
    for key, task in list(opened.tasks.items())[:2]:
        style, scorers, docs = opened.styles[key], opened.scorers[key], opened.doc_ids[key]
        gold: dict[int, str] = {}
        for instance in task.instances(docs, style):
            gold.setdefault(instance.doc_id, (gold_texts(task, style, instance) or ["B"])[0])
        plain = rows(task, style, scorers, docs, gold)
        assert [status for status, _, _ in plain] == ["answered"] * len(docs), plain
        for format_name, text in {**FORMATS, **ANSWERED}.items():
            said = {doc_id: text.format(w=WHY, b=answer) for doc_id, answer in gold.items()}
            assert rows(task, style, scorers, docs, said) == plain, format_name
        for case, text in CUT.items():
            said = {doc_id: text.format(w=WHY, b=answer) for doc_id, answer in gold.items()}
            found = rows(task, style, scorers, docs, said, ended="length")
            assert [status for status, _, _ in found] == ["truncated"] * len(docs), case
            assert unread(found), (case, found)
        inside = {doc_id: f"<think>{answer}</think>" for doc_id, answer in gold.items()}
        found = rows(task, style, scorers, docs, inside)
        assert unread(found), found


def unread(found: list[Any]) -> bool:
    """Whether no rule has read an answer."""
    read = {rule for _, _, rules in found for each in rules.values() for rule in each}
    return read <= {"truncated", "unparsed"}


def _only(request: RunRequest) -> str:
    """The first task of a request, which may name a group."""
    from mm_eval.prepare import load_configs

    return next(iter(load_configs(request).tasks))
