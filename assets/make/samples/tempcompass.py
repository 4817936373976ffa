"""TempCompass: four videos in one zip archive, each with a question of every form."""

from typing import Any

from samples import Row, Sample, rng
from samples._movies import Asked, movie, questions, story, zipped

ASPECTS = ("action", "speed", "direction", "order", "attribute_change")
LABELS = (("Sentence A", "Sentence B"), ("Option 1", "Option 2"), ("Caption A", "Caption B"))
TEMPLATES = (
    "Which sentence better captures the essence of the video?", "Which description is a more suitable match for the video?",
    "Which caption matches the video better?",
)  # fmt: skip
INFORMATION = "You will be presented with a video and several pieces of information. One is consistent with the video. "


def features(*more: str) -> dict[str, Any]:
    """The columns that lmms-eval reads."""
    from datasets import Value

    return {name: Value("string") for name in ("video_id", "question", "answer", "dim", *more)}


def asked(place: int, each: Asked) -> dict[str, tuple[str, ...]]:
    """The question in the four forms: (question, answer), the last also with the question and answer for the judge."""
    right, wrong = each.options[each.right], each.options[each.right - 1]
    lettered = [f"{letter}. {text}" for letter, text in zip("ABCD", each.options, strict=True)]
    pair = (right, wrong) if place % 2 else (wrong, right)
    captions = [f"{label}: It {text}." for label, text in zip(LABELS[place % 3], pair, strict=True)]
    choice = "\n".join([each.text, *lettered])
    facts = "".join(f"Information {letter}: {text}\n" for letter, text in zip("ABCD", each.options, strict=True))
    return {
        "multi-choice": (choice, lettered[each.right]),
        "yes_no": (f"Is it true that it {pair[0]}?", "yes" if pair[0] == right else "no"),
        "caption_matching": ("\n".join([TEMPLATES[place % 3], *captions]), captions[pair.index(right)]),
        "captioning": (f"{INFORMATION}\n{facts}Generated Caption:", lettered[each.right], choice, lettered[each.right]),
    }


def samples() -> list[Sample]:
    """Eight questions in each form."""
    movies, rows = dict[str, bytes](), {form: list[Row]() for form in asked(0, Asked("", "", ("a", "b", "c", "d"), 0))}
    for place in range(4):
        name, found = f"mm-eval-tc-{place}", story("tempcompass", place, actions=2 + place % 2)
        movies[f"videos/{name}.mp4"] = movie(found)
        for each in questions(found, rng("tempcompass", place))[1:3]:
            for form, cells in asked(place + (each.kind == "order"), each).items():
                dim = ASPECTS[len(rows[form]) % len(ASPECTS)]
                names = ("question", "answer", "mc_question", "mc_answer")
                rows[form].append({"video_id": name, "dim": dim, **dict(zip(names, cells, strict=False))})
    made = [
        Sample(
            "lmms-lab/TempCompass",
            "test",
            features(*(("mc_question", "mc_answer") if form == "captioning" else ())),
            some,
            form,
        )
        for form, some in rows.items()
    ]
    made[0].files["tempcompass_videos.zip"] = zipped(movies)
    return made
