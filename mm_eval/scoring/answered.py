"""A doc with its recorded answers and scores, and its row of samples/<task>.jsonl."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mm_eval.scoring.base import Scorer
from mm_eval.scoring.filters.base import FILTERED, REFUSED, TRUNCATED, UNANSWERED, found_by, is_unanswered
from mm_eval.scoring.sample_row import Endings, SampleRow, Turn
from mm_eval.values.errors import MMEvalError, ModelError
from mm_eval.values.reasoning.recorded import as_text, parts_of
from mm_eval.values.types import (
    FRAME_MARK,
    Answer,
    Instance,
    ReducedDoc,
    ScoredDoc,
    Slot,
    UpperBound,
    clips_to_json,
    sounds_to_json,
)

Lookup = Callable[[Slot], Answer | None]


def missing_of(answer: Answer) -> str:
    """Why a question that was asked has no answer (`UNANSWERED`); empty where it has one.

    Reasoning that never closed is not known here, but to the filter that strips it. A conversation that a call of a tool ended is
    cut as one that the token cap ended.
    """
    if answer.ended in (FILTERED, REFUSED):
        return answer.ended
    return TRUNCATED if answer.ended in ("length", "tool") and not str(answer.output).strip() else ""


def scored_text(answer: Answer) -> str:
    """A generated answer as it is scored, and shown to graders: marked and empty where there is none."""
    missing = missing_of(answer)
    return found_by("", missing) if missing else as_text(answer.output)


@dataclass
class AnsweredDoc:
    """A doc with what the journal holds of it.

    failure: why a request failed, or why a pipeline can't score it. not_requested: a request was never made.
    shown: an answer with all pictures of the prompt; None without pictures. truncated, cut: at least one answer is.
    filtered, refused: the same. unanswered: at least one answer is missing, and has the worst value of each metric.
    answers: as they were given, in the order of the instances.
    turns: of each conversation, its recorded answers; empty for a task of one turn.
    scored: by the key of the scorer. tied: several choices share the best score. too_large: the comparisons that an answer is too
    large for, each once. remarks: what metrics say of its scores.
    """

    instances: list[Instance]
    failure: MMEvalError | None = None
    not_requested: MMEvalError | None = None
    shown: Answer | None = None
    truncated: bool = False
    filtered: bool = False
    refused: bool = False
    unanswered: bool = False
    cut: bool = False
    answers: list[Answer] = field(default_factory=list)
    turns: list[tuple[Answer, ...]] = field(default_factory=list)
    scored: dict[str, tuple[ScoredDoc, ReducedDoc]] = field(default_factory=dict)
    tied: bool = False
    too_large: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, instances: list[Instance], lookup: Lookup) -> AnsweredDoc:
        """The doc of some instances, which get their answers as `resps`."""
        made = cls(instances)
        for instance in instances:
            found = lookup(instance.slot)
            if found is not None and found.turns:
                made.turns.append(found.turns)
            if error := instance.error or (found and found.error):
                made.failure = error
            elif found is None:
                made.not_requested = ModelError("it was not requested.", where=f"{instance.task} doc {instance.doc_id}")
            else:
                generated = instance.request_type == "generate_until"
                instance.resps = [scored_text(found) if generated else found.output]
                made.answers.append(found)
                made.unanswered = made.unanswered or generated and is_unanswered(instance.resps[0])
        ended = {answer.ended for answer in made.answers}
        made.truncated, made.filtered, made.refused = "length" in ended, FILTERED in ended, REFUSED in ended
        made.cut = any(answer.cut for answer in made.answers)
        # a request may be without pictures: an option on its own, for acc_mutual_info
        made.shown = next((answer for answer in reversed(made.answers) if answer.images or answer.heard), None)
        return made

    @property
    def error(self) -> MMEvalError | None:
        """Why it is in no number; None if it is."""
        return self.failure or self.not_requested

    @property
    def resps(self) -> list[Any]:
        """The answers as they were given."""
        return [answer.output for answer in self.answers]

    @property
    def repeats_differ(self) -> bool:
        return any(answer.output != self.answers[0].output for answer in self.answers[1:])

    @property
    def status(self) -> str:
        """The doc's state in one word, for its row."""
        if self.error is not None:
            return "failed" if self.failure else "not requested"
        counted = ((FILTERED, self.filtered), (REFUSED, self.refused), (TRUNCATED, self.truncated))
        return next((name for name, holds in counted if holds), "answered")

    def note_missing(self, rules: Mapping[str, Sequence[str]]) -> None:
        """Notes the answers that a pipeline found to be missing: reasoning that never closed. rules: of each pipeline."""
        found = {rule for of_pipeline in rules.values() for rule in of_pipeline}
        self.truncated = self.truncated or TRUNCATED in found
        self.unanswered = self.unanswered or not UNANSWERED.isdisjoint(found)

    def add_scores(self, key: str, found: ScoredDoc, values: ReducedDoc) -> None:
        """Adds what a scorer found, and its values with the repeats reduced. key: of the scorer."""
        self.scored[key] = found, values
        self.tied = self.tied or found.tied
        self.too_large += [what for what in found.too_large if what not in self.too_large]
        self.remarks += [what for what in found.remarks if what not in self.remarks]

    @property
    def shows_frames(self) -> bool:
        return self.shown is not None and any(digest.startswith(FRAME_MARK) for digest in self.shown.images)

    @property
    def shows_silent_video(self) -> bool:
        """Whether it shows a video whose sound was asked for, and that has none."""
        return self.shown is not None and any(clip.silent for clip in self.shown.clips)

    @property
    def own_images(self) -> tuple[str, ...]:
        """The digests of the question's own pictures and sounds: the last turn's, where few-shot examples show some before it."""
        if self.shown is None:
            return ()
        images, heard = self.shown.images, tuple([each.digest for each in self.shown.heard])
        if self.shown.turn_pictures:
            images = images[len(images) - self.shown.turn_pictures[-1] :]
        if self.shown.turn_shown:
            heard = heard[len(heard) - self.shown.turn_shown[-1].count("a") :]
        return (*images, *heard)

    @property
    def endings(self) -> list[str]:
        """How each answer of the row ended; without answers whether the request failed."""
        if self.error is None:
            return [answer.ended for answer in self.answers]
        return ["failed"] if self.failure else []

    def rules(self, scorers: Sequence[Scorer]) -> dict[str, list[str]]:
        """{pipeline: the rule that read each answer}."""
        readers = [each for each in scorers if each.reads_answers and each.key in self.scored]
        return {each.name: list(self.scored[each.key][0].rules) for each in readers}

    def row(
        self,
        name: str,
        scorers: Sequence[Scorer],
        rules: Mapping[str, list[str]],
        categories: Mapping[str, list[str]] | None,
        cluster: Hashable,
    ) -> SampleRow:
        """The row of samples/<task>.jsonl. name: of the task.

        categories: by level; None for a task without. cluster: the doc's id where it stands alone.
        """
        first, error = self.instances[0], self.error
        filtered: dict[str, list[object]] = {}
        for instance in self.instances if error is None else ():
            for pipeline, answers in instance.filtered_resps.items():
                filtered.setdefault(pipeline, []).extend(answers)
        endings: Endings = {"ended": self.endings} if first.request_type == "generate_until" else {}
        row: SampleRow = {
            "task": name,
            "doc_id": first.doc_id,
            "status": self.status,
            "doc": first.doc,
            "prompt": first.context,
            "target": first.target,
            "resps": self.resps if error is None else [],
            **endings,  # type: ignore[typeddict-item]
            "filtered_resps": filtered,
            "rules": rules,
            "scores": {
                scorer.label(metric): value
                for scorer in scorers
                if scorer.key in self.scored
                for metric, value in self.scored[scorer.key][1].items()
            },
        }
        reasoning = [parts_of(resp).reasoning if isinstance(resp, str) else "" for resp in row["resps"]]
        if any(reasoning):
            row["reasoning"] = reasoning
        if first.continuation is not None and first.request_type == "loglikelihood":
            row["choices"] = [instance.continuation for instance in self.instances]
        if self.turns:
            row["turns"] = [list(map(_turn, turns)) for turns in self.turns]
        if self.tied and error is None:
            row["ties"] = True
        if error is None and (bounds := [n for n, resp in enumerate(row["resps"]) if isinstance(resp, UpperBound)]):
            row["bounds"] = bounds
        if self.too_large and error is None:
            row["too_large"] = self.too_large
        if self.remarks and error is None:
            row["remarks"] = self.remarks
        if error is not None:
            row["error"] = {"owner": error.owner, "what": str(error)}
        row["cut"] = self.cut
        for scorer in scorers if error is None else ():
            row.update(scorer.row_entries(first.doc_id))  # type: ignore[typeddict-item]
        if categories is not None:
            row["categories"] = categories
        if cluster != first.doc_id:
            row["cluster"] = cluster  # so that runs can be compared by what was drawn together
        if self.shown is not None:
            if self.shown.images:
                row["images"] = list(self.shown.images)
            if any(self.shown.turn_pictures[:-1]):  # pictures of few-shot examples stand before those of the question
                row["turn_pictures"] = list(self.shown.turn_pictures)
            row.update(clips_to_json(self.shown.clips))  # type: ignore[typeddict-item]
            row.update(sounds_to_json(self.shown.heard, self.shown.turn_shown))  # type: ignore[typeddict-item]
        return row


def _turn(answer: Answer) -> Turn:
    turn: Turn = {"messages": list(answer.messages or ()), "answer": answer.output, "ended": answer.ended}
    if answer.reasoning:
        turn["reasoning"] = answer.reasoning
    if answer.error is not None:
        turn["error"] = {"owner": answer.error.owner, "what": str(answer.error)}
    turn["tokens"], turn["attempts"], turn["t"] = dict(answer.usage), answer.attempts, answer.at
    return turn
