"""One HTML file that opens from disk with no network: a template with the data as JSON in it, which scripts draw.

    RunFolder(folder).write_lines("report.html", page("Mine", "run.js", rows, pictures, about))

A page is written as a stream, a row and a picture at a time, so that 20,000 docs need the memory of one. Every text of a model,
a doc or a task reaches the page as text (textContent), never as HTML, and `<` in the JSON is escaped, so that no answer can
end the script element.
"""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib import resources
from itertools import zip_longest
from pathlib import Path
from typing import Any

from mm_eval.results.judged import disagree, further, verdicts_in
from mm_eval.results.media import Media
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import Marking
from mm_eval.results.sounds import kept_sounds
from mm_eval.scoring.sample_row import SampleRow, added_to
from mm_eval.values.run_files import MOST_LINE, is_inside, json_value, lines_of, open_regular
from mm_eval.values.safe import href, html, in_script
from mm_eval.values.types import IMAGE_MARK, Fields, JsonObject, clips_of_json, mark_of

CATEGORY_COLUMNS = (
    "category",
    "subject",
    "sub_category",
    "question_type",
    "data_type",
    "question_type_id",
    "task",
    "type",
)
NOT_SHOWN = 0
"""In place of another run's answer to a sample, where it is left out on purpose."""
LONGEST = 20_000
"""Characters of one text in a page; a longer one is cut with a remark."""


def page(
    title: str,
    top: str,
    rows: Iterable[Mapping[str, object]],
    pictures: Callable[[], Iterable[tuple[str, str]]],
    about: Callable[[], Mapping[str, object]],
    in_parts: bool = False,
    live: bool = False,
) -> Iterator[str]:
    """The page in pieces, each of whole lines.

    top: the script that draws the part above the samples. rows: the samples. pictures: (digest, address) of each picture.
    about: the data of the part above the samples. Both are called after the last row, so that they may use what the rows collect.
    in_parts: the samples come from scripts beside the page, of which `about` names the first as `next`.
    live: it is served; scripts beside it, of which `about` has the address as `live`, say when there is something new.
    """
    scripts = (
        "shared.js",
        "tabs.js",
        "charts.js",
        top,
        "samples.js",
        *(["parts.js"] if in_parts else []),
        *(["together.js"] if live else []),
    )
    values: dict[str, Callable[[], Iterable[str]]] = {
        "TITLE": lambda: [html(title)],
        "STYLE": lambda: [asset("report.css")],
        "ROWS": lambda: _json_lines("[]", (in_script(row) for row in rows)),
        "MEDIA": lambda: _json_lines("{}", (f"{in_script(digest)}:{in_script(at)}" for digest, at in pictures())),
        "DATA": lambda: [in_script(about())],
        "BESIDE": lambda: [" 'self' file:" if in_parts or live else ""],
        "SCRIPT": lambda: map(asset, scripts),
    }
    yield from filled("report.html", values)


def filled(template: str, values: Mapping[str, Callable[[], Iterable[str]]]) -> Iterator[str]:
    """A template with the pieces of each place <!--NAME--> in it. A value is made when its place is reached."""
    for place, part in enumerate(re.split(r"<!--([A-Z]+)-->", asset(template))):
        yield from values[part]() if place % 2 else [part]


def about_differences(
    kind: str,
    title: str,
    runs: Mapping[str, RecordedRun],
    facts: Sequence[Mapping[str, object]],
    own: str,
    beside: Sequence[str],
) -> JsonObject:
    """The part above the samples that the pages of `compare` and `prompts` share; differences.js draws it.

    runs: by the names of their banners. own, beside: the names of the samples' own run and of those beside it.
    """
    sampled = sorted({name for run in runs.values() for name in run.results.run.sample})
    return {
        "kind": kind,
        "title": title,
        "datasets": sampled,
        "sample": bool(sampled),
        "facts": list(facts),
        "own": own,
        "beside": list(beside),
        "differs": [
            {"title": f"{name}: look at the answers first", "said": said}
            for name, run in runs.items()
            if (said := run.results.warnings)
        ],
    }


def run_fact(name: str, run: RecordedRun, page_folder: Path, text: str, page: str | None = None) -> JsonObject:
    """A line about a run above the tables, with a link to its own report: to `page` where that is not in its folder."""
    if page is not None:
        return {"name": name, "text": text, "link": page, "at": run.folder.name}
    report = run.folder / "report.html"
    link = (
        href(Path(os.path.relpath(report, page_folder))) if report.is_file() and is_inside(run.folder, report) else None
    )
    return {"name": name, "text": text, "link": link, "at": str(run.folder)}


class SampleRows:
    """The rows of a run's samples with the answers of other runs to the same docs. To be iterated over once.

    Filled meanwhile: categories {task: {category: doc ids}} of tasks that declare none; digests of all pictures and sounds of all
    clips, in their order.
    """

    def __init__(
        self,
        run: RecordedRun,
        others: Sequence[RecordedRun | None] = (),
        model: int | None = None,
        look: Callable[[str, SampleRow], None] | None = None,
        choose: Callable[[str, int], Collection[int] | None] | None = None,
    ) -> None:
        """others: None for a run that does not exist. model: the run's place among the models of a page that shows several.
        look: gets the task and the row of each sample, as it is recorded. choose: gets task and doc id, and gives the places of
        the others that stand beside the sample; None leaves the sample out.
        """
        self.run, self.others, self.model, self.look, self.choose = run, others, model, look, choose
        self.categories: dict[str, dict[str, array[int]]] = {}
        self.digests: dict[str, None] = {}
        self.sounds: dict[str, None] = {}

    def __iter__(self) -> Iterator[JsonObject]:
        for name in self.run.spec["tasks"]:
            beside = [Answers(other, name) if other and name in other.spec["tasks"] else None for other in self.others]
            categories, marking = self.categories.setdefault(name, {}), Marking.of(self.run.results, name)
            for row in self.run.rows(name, keep=True):
                chosen = self.choose(name, row["doc_id"]) if self.choose is not None else range(len(beside))
                if chosen is None:
                    continue
                if self.look is not None:
                    self.look(name, row)
                shown = _page_row(name, row, marking)
                if row["resps"] and isinstance(row["resps"][0], str):
                    spent = self.run.spent.get(name, {}).get(row["doc_id"])
                    shown["z"] = [
                        len(row["resps"][0]),
                        *([spent.completion, spent.prompt, round(spent.at, 1), spent.seconds] if spent else [None]),
                    ]
                if isinstance(shown["c"], str):
                    categories.setdefault(shown["c"], array("q")).append(row["doc_id"])
                if "images" in shown:
                    self.digests.update(dict.fromkeys(shown["images"]))
                self.sounds.update(dict.fromkeys(digest for digest, *_ in shown.get("y", ())))
                for turns in shown.get("n", ()):
                    shown_in = [each for turn in turns for each in (turn, *turn.get("c", ()))]
                    self.digests.update(dict.fromkeys(digest for each in shown_in for digest in each.get("i", ())))
                if beside:
                    shown["w"] = [
                        NOT_SHOWN if n not in chosen else answers.beside(row) if answers else None
                        for n, answers in enumerate(beside)
                    ]
                if self.model is not None:
                    shown["m"] = self.model
                yield shown


def pictures(digests: Iterable[str], folders: Sequence[Path], page_folder: Path) -> Iterator[tuple[str, str]]:
    """(digest, address) of each thumbnail that one of the run folders has."""
    with ExitStack() as opened:
        kept = [opened.enter_context(Media(folder)) for folder in folders]
        for digest in digests:
            address = next((found for media in kept if (found := media.address(digest, page_folder))), None)
            if address is not None:
                yield digest, address


def sounds(digests: Iterable[str], folders: Sequence[Path], page_folder: Path) -> Iterator[tuple[str, str]]:
    """(digest, address) of each sound that one of the run folders has, and the outline of its wave under the digest and "~"."""
    kept = [(folder, kept_sounds(folder)) for folder in folders] if digests else []
    for digest in digests:
        for folder, found in kept:
            if digest in found:
                yield digest, found[digest].address(folder, digest, page_folder)
                yield f"{digest}~", found[digest].wave
                break


def _json_lines(brackets: str, items: Iterable[str]) -> Iterator[str]:
    """JSON items between brackets, one a line."""
    before = brackets[0]
    for item in items:
        yield before + item
        before = ","
    yield brackets if before == brackets[0] else brackets[1]


def asset(name: str) -> str:
    """The text of a template, style or script."""
    return (resources.files("mm_eval.assets") / "report" / name).read_text(encoding="utf-8")


class Answers:
    """A run's answers to the docs of a task. Only each row's place in its file is kept in memory."""

    def __init__(self, run: RecordedRun, task: str) -> None:
        self._task, self._run, self._path = task, run, run.samples_path(task)
        self._places: dict[int, int] = {}
        self._marking = Marking.of(run.results, task)
        for at, line in lines_of(run.folder, self._path):
            self._places[json_value(line or b"")["doc_id"]] = at

    def beside(self, row: SampleRow) -> JsonObject | None:
        """The answer to the doc of another run's row, in the short keys of the page; None where this run lacks the doc."""
        at = self._places.get(row["doc_id"])
        if at is None:
            return None
        with open_regular(self._run.folder, self._path) as file:
            file.seek(at)
            other = json_value(file.readline(MOST_LINE))
        if (other["doc"], other["target"]) != (row["doc"], row["target"]):
            return None  # the data differs, so that the id is that of another doc
        shown = _page_row(self._task, other, self._marking)
        keys = ("a", "ok", "e", "u", "x") if row["prompt"] == other["prompt"] else ("a", "ok", "e", "u", "x", "p")
        return {key: shown[key] for key in keys if key in shown}


def _page_row(name: str, row: SampleRow, marking: Marking) -> JsonObject:
    """A row of samples/<task>.jsonl in the short keys of the page, since there may be 20,000 rows."""
    scores, rules, is_judged = row.get("scores", {}), row.get("rules", {}), bool(added_to(row))
    # right or wrong is what the first judge says
    others = further(row) if is_judged else ()
    own = {k: value for k, value in scores.items() if not k.partition(",")[0].endswith(others)} if others else scores
    unparsed = bool(rules) and all(set(found) == {"unparsed"} for found in rules.values() if found)
    shown: dict[str, object] = {
        "t": name,
        "d": row["doc_id"],
        "s": row["status"],
        "p": prompt_text(row.get("prompt", "")),
        "g": row.get("target"),
        "a": [shortened(answer) if type(answer) is str else answer for answer in row.get("resps", [])],
        "x": row.get("filtered_resps", {}),
        "r": rules,
        "v": {k: value.get("score", value) if isinstance(value, dict) else value for k, value in scores.items()},
        "c": category_labels(row["categories"]) if "categories" in row else _category(row.get("doc", {})),
    }
    clips = clips_of_json(row) if "videos" in row else ()
    optional: JsonObject = {
        "ok": marking.mark(own),
        "images": row.get("images"),
        "tp": row.get("turn_pictures"),
        "o": row.get("choices"),
        "h": [shortened(thought) for thought in row.get("reasoning", ())] or None,
        "f": [[clip.first, clip.seconds, clip.path] for clip in clips] or None,
        "y": [_heard(sound) for sound in row.get("sounds") or ()] or None,
        "e": row["error"]["what"] if row.get("error") else None,
        "u": unparsed or None,
        "k": row.get("cut") or None,
        "n": [
            list(_turns(*each)) for each in zip_longest(row.get("turns", ()), _tools(row).get("ran", ()), fillvalue=())
        ]
        or None,
        "rs": _tools(row).get("restored"),
    }
    if is_judged:
        optional |= _judge_cells(row)
    shown.update((key, value) for key, value in optional.items() if value is not None)
    return shown


def _heard(sound: Fields) -> list[Any]:
    """A sound of a row: digest, seconds, rate, channels and the name of its file."""
    seconds = round(sound["length"] / sound["rate"], 3)
    return [sound["digest"], seconds, sound["rate"], sound["channels"], sound["name"]]


def _judge_cells(row: SampleRow) -> dict[str, object]:
    """The judges of a row, each with its verdicts: prompt, reply, what was read, version and attempts; whether they disagree."""
    judges = verdicts_in(row)
    shown = [
        {
            "n": name,
            "e": [
                {
                    "p": prompt_text(entry.get("prompt") or ""),
                    "r": shortened(entry.get("reply")),
                    "v": entry.get("verdict"),
                    "m": entry.get("model"),
                    "a": entry.get("attempts"),
                    "e": entry.get("error"),
                    "b": bool(entry.get("empty")),
                    **({"w": entry["answer"]} if "answer" in entry else {}),
                }
                for entry in entries
            ],
        }
        for name, entries in judges.items()
    ]
    return {"j": shown or None, "jd": (bool(judges) and disagree(row, judges)) or None}


ENDINGS = {
    "error": "raised an exception",
    "stopped": "stopped by a limit",
    "ended": "ended its interpreter",
    "gone": "ended its sandbox",
    "refused": "not run: the time of its question was used up",
}
"""How code ended, in words; "" where it came to its end."""


def _tools(row: SampleRow) -> Fields:
    """What a row says of its tools; empty where it has none."""
    found = added_to(row).get("tools")
    return found if isinstance(found, Mapping) else {}


def _calls(ran: Sequence[Fields], turn: int) -> Iterator[JsonObject]:
    """The calls of code that an answer made: the code, what it returned, how it ended, and its seconds."""
    for call in ran:
        if call["turn"] == turn:
            shown = {"c": shortened(call["code"]), "o": shortened(call["output"]), "s": call["seconds"]}
            more = {"i": [digest for _, digest in call["pictures"]], "e": ENDINGS.get(call["ending"], "")}
            yield {**shown, **{name: value for name, value in more.items() if value}, "r": call.get("restored", [])}


def _turns(turns: Sequence[Fields], ran: Sequence[Fields]) -> Iterator[JsonObject]:
    """The turns of a conversation: what was said and shown, the answer, its tokens, and the seconds since the last one.

    ran: its calls of code. What they returned stands with them, and not with the turn after.
    """
    before: object = None
    for number, turn in enumerate(turns):
        messages, tokens, at = turn.get("messages") or [], turn.get("tokens") or {}, turn.get("t")
        shown: JsonObject = {"a": shortened(turn.get("answer")), "e": turn.get("ended")}
        if messages:
            shown["p"] = prompt_text(messages)
        digests = [part["digest"] for message in messages for part in message["content"] if "digest" in part]
        returned = [digest for call in _calls(ran, number - 1) for digest in call.get("i", ())]
        if left := list((Counter(digests) - Counter(returned)).elements()):
            shown["i"] = left
        if code := list(_calls(ran, number)):
            shown["c"] = code
        if turn.get("reasoning"):
            shown["h"] = shortened(turn["reasoning"])
        if turn.get("error"):
            shown["x"] = turn["error"]["what"]
        if tokens:
            shown["k"] = [tokens.get("prompt_tokens"), tokens.get("completion_tokens")]
        if before and at:
            shown["s"] = round(max(0.0, at - before), 1)
        before = at
        yield shown


def prompt_text(prompt: Any) -> str:
    """A prompt as a page shows it: text, or the messages of a chat with their roles. Many pictures in a row are one line."""
    if isinstance(prompt, str):
        return str(shortened(_collapse_frames(prompt)))
    lines = []
    for message in prompt:
        parts = message["content"]
        text = parts if isinstance(parts, str) else "".join(part.get("text", f"{mark_of(part)}\n") for part in parts)
        lines.append(f"[{message['role']}]\n{text}")
    return str(shortened(_collapse_frames("\n\n".join(lines))))


def _collapse_frames(text: str) -> str:
    """A clip of 768 frames would fill the panel with its marks."""
    if IMAGE_MARK not in text:
        return text
    return re.sub(rf"(?:{IMAGE_MARK}\s*){{5,}}", lambda run: f"{IMAGE_MARK} x{run[0].count(IMAGE_MARK)}\n", text)


def shortened(value: object) -> object:
    """A text as a page shows it, cut with a remark where it is very long; another value as it is."""
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST]} ... ({len(value):,} characters; all of them are in samples/)"
    return value


def category_labels(categories: Mapping[str, Sequence[str]]) -> list[str]:
    """The declared categories of a doc as the page names them: with their level if the task has several."""
    several = len(categories) > 1
    return [f"{level}: {name}" if several else name for level, names in categories.items() for name in names]


def _category(doc: Mapping[str, object]) -> str:
    """The doc's category, from the first of `CATEGORY_COLUMNS` that it has; empty where it has none."""
    for name in CATEGORY_COLUMNS:
        if name in doc and isinstance(doc[name], (str, int)):
            return str(doc[name])
    return ""
