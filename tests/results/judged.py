"""Judged run folders made by hand, in the form that a run with a judge writes them."""

import json
import shutil
from pathlib import Path

from tests.folders import edited

OFFICIAL = "gpt-4-0613"


def judge(name="gpt-4o", returned=None, **changed) -> dict:
    """A judge of results.json."""
    entry = {
        "name": name,
        "adapter": "openai",
        "model": name,
        "models": {returned or name: 420},
        "prompt_digest": "0123abcd",
        "options": {"temperature": 0},
        "official": OFFICIAL,
        "repeats": 1,
        "preflight": "passed",
    }
    return {**entry, **changed}


def judged_run(source: Path, target: Path, judges, verdict, *, prompt=None, failed=0) -> Path:
    """A copy of an MME run as if judges had scored it. verdict: of (place of the judge, row); a list for several verdicts."""
    shutil.copytree(source, target)
    lines, sums = [], [[] for _ in judges]
    for text in (target / "samples/mme.jsonl").read_text().splitlines():
        row = json.loads(text)
        row["scores"] = {}
        row.pop("categories", None)
        for place, entry in enumerate(judges):
            given = verdict(place, row)
            listed = [
                {
                    "prompt": prompt or f"Question: {row['doc_id']}\nIs the answer right?\n{row['resps'][0]}",
                    "reply": "no grade here" if each is None else f"GRADE: {each}",
                    "verdict": each,
                    "model": next(iter(entry["models"])),
                    "attempts": 3 if each is None else 1,
                }
                for each in (given if isinstance(given, list) else [given])
            ]
            at = "" if place == 0 else f"@{entry['name']}"
            row[f"judge{at}"] = listed if isinstance(given, list) else listed[0]
            known = [each["verdict"] for each in listed if each["verdict"] is not None]
            if known and not isinstance(known[0], str):
                row["scores"][f"judge_score{at},none"] = sum(known) / len(known)
                sums[place].append(sum(known) / len(known))
        lines.append(json.dumps(row, ensure_ascii=False))
    (target / "samples/mme.jsonl").write_text("\n".join(lines) + "\n")
    found = {"alias": "mme", "n": len(lines), "failed": 0, "unparsed": 0, "truncated": 0, "cut": 0, "ties": 0}
    for place, values in enumerate(sums):
        at = "" if place == 0 else f"@{judges[place]['name']}"
        mean = sum(values) / len(values) if values else None
        found |= {f"judge_score{at},none": mean, f"judge_score{at}_stderr,none": 0.02}
    found |= {"judge_failed": failed, "judge_bounds": [0.4, 0.6] if failed else None}
    with edited(target / "results.json") as results:
        results["results"] = {"mme": found}
        results["higher_is_better"] = {"mme": {}}
        results["judges"] = {"mme": list(judges)}
        results.pop("categories", None)
    return target
