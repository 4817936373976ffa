"""CDM of a run's formulas, by the authors' own code: python -m mm_eval.tasks.omnidocbench.cdm RUN [--scores metrics_res.json]

Without --scores it writes RUN/omnidocbench_cdm.json, the input of their script:

    cd UniMERNet/cdm && python evaluation.py -i RUN/omnidocbench_cdm.json -o OUTPUT
    # apt-get install nodejs texlive-latex-extra texlive-science ghostscript, ImageMagick 7 and the script's requirements.txt

and with the metrics_res.json that the script leaves it prints CDM and the overall number of OmniDocBench 1.5. CDM is drawn, not
computed from texts: its value depends on the versions of TeX Live and ImageMagick, so name them beside the number.

Source: call_CDM in metrics/cal_metric.py of github.com/opendatalab/OmniDocBench, v1.5 (through the fork pichiu/OmniDocBench at
7bd6c2e), and cdm/evaluation.py of github.com/opendatalab/UniMERNet at 5a2c80d.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mm_eval.cli.say import complain, say_lines
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.errors import ConfigError, MMEvalError
from mm_eval.values.files import write_atomic

from .pages import compared

TASK = "omnidocbench"


@dataclass(frozen=True)
class Formula:
    """A formula of a page and what the answer has for it, "" for nothing. number: among all of a run, which names it."""

    number: int
    gold: str
    said: str

    def to_json(self) -> dict[str, str]:
        """As cdm/evaluation.py reads it. Its name becomes that of files and part of shell commands there."""
        return {"img_id": f"formula_{self.number}", "gt": bare(self.gold), "pred": bare(outside_of_fence(self.said))}


def bare(formula: str) -> str:
    """A formula without dollars around it."""
    return formula.strip("$").strip().strip("$").strip()


def _within_brackets(formula: str) -> str:
    return formula.removeprefix("\\[").removesuffix("\\]").strip()


def outside_of_fence(answer: str) -> str:
    """What stands in the last block of LaTeX, if there is one."""
    return answer.split("```latex")[-1].split("```")[0]


def formulas_of(run: RecordedRun, task: str) -> Iterator[Formula]:
    """The formulas of all answered pages, in the order of the documents."""
    number = 0
    for row in run.rows(task):
        if row["status"] in ("answered", "filtered", "refused", "truncated"):
            answers = next(iter(row["filtered_resps"].values()), None) or [""]
            for gold, said in compared(row["doc"], str(answers[0] or "")).latex:
                yield Formula(number, gold, said)
                number += 1


@dataclass(frozen=True)
class Scored:
    """What the authors' script gave. cdm: from 0 to 1, the mean over all formulas. undrawn: the page's own formulas that TeX
    could not draw, which the script leaves out of its mean and OmniDocBench counts as 0, as here."""

    cdm: float
    formulas: int
    undrawn: int


def scored(details: Mapping[str, Mapping[str, float]], formulas: Sequence[Formula]) -> Scored:
    """CDM by the `details` of metrics_res.json. ConfigError where they are not of this run's formulas, or wrong."""
    if not formulas:
        raise ConfigError("the run has no formula.", where="--scores")
    pairs = {each.to_json()["img_id"]: each.to_json() for each in formulas}
    if unknown := details.keys() - pairs.keys():
        what = f"it has scores of {min(unknown)!r}, and the run has {len(pairs)} formulas."
        raise ConfigError(what, where="--scores", hint="Give the scores of this run's omnidocbench_cdm.json.")
    found = {name: float(details[name]["F1_score"]) for name in pairs if name in details}
    equal = [name for name in found if _within_brackets(pairs[name]["gt"]) == _within_brackets(pairs[name]["pred"])]
    if equal and not any(found[name] for name in equal):
        what = f"{equal[0]} is the same on both sides, and has 0: the script did not match anything."
        raise ConfigError(
            what, where="--scores", hint="Install the versions of its requirements.txt: scikit-image up to 0.20."
        )
    return Scored(sum(found.values()) / len(pairs), len(pairs), len(pairs) - len(found))


def overall(texts: float, tables: float, cdm: float) -> float:
    """The overall number in percent. texts: their edit distance. tables: their TEDS."""
    return 100 * ((1 - texts) + tables + cdm) / 3


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN", help="the run folder")
    parser.add_argument("--task", default=TASK, help="the name of the task in the run")
    parser.add_argument("--scores", metavar="FILE", help="metrics_res.json of the authors' script")
    options = parser.parse_args(words)
    try:
        say_lines(_done(Path(options.run), options.task, options.scores))
    except MMEvalError as error:
        complain(error)
        return 2
    return 0


def _done(folder: Path, task: str, scores: str | None) -> str:
    run = RecordedRun.read(folder)
    if task not in run.spec["tasks"]:
        raise ConfigError(f"the run has no task {task!r}.", where=str(folder), hint="--task NAMES it.")
    found = list(formulas_of(run, task))
    if scores is None:
        path = folder / "omnidocbench_cdm.json"
        write_atomic(path, [json.dumps([each.to_json() for each in found], indent=1, ensure_ascii=False)])
        return f"{len(found)} formulas are in {path}"
    try:
        details = json.loads(Path(scores).read_text(encoding="utf-8"))["details"]
        result = scored(details, found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"it is not the metrics_res.json of the script: {error}.", where=scores) from error
    numbers = {each.metric: float(each.value) for each in run.results.rows[task].numbers if each.filter == "none"}
    lines = [f"CDM {100 * result.cdm:.2f}, the mean of {result.formulas} formulas"]
    lines += [f"{result.undrawn} of the pages' own formulas could not be drawn, and count 0"] if result.undrawn else []
    if parts := [name for name in ("text_edit_distance", "table_teds") if name not in numbers]:
        return "\n".join([*lines, f"no overall number: the run has no {' and no '.join(parts)}"])
    whole = overall(numbers["text_edit_distance"], numbers["table_teds"], result.cdm)
    return "\n".join([*lines, f"overall {whole:.2f}"])


if __name__ == "__main__":
    sys.exit(main())
