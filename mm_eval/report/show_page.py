"""The page of `mm-eval show --html`: a doc's prompt with its pictures and, of each video, the frames with their times."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mm_eval.report.page import asset
from mm_eval.report.safe import html
from mm_eval.report.thumbnails import thumbnail_of
from mm_eval.types import Clip

if TYPE_CHECKING:
    from PIL.Image import Image

HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
"""


@dataclass(frozen=True)
class ShownPrompt:
    """What `show` prints of a doc. head, rest: the lines before and after the prompt's text. pictures: all, frames among them."""

    head: Sequence[str]
    text: str
    rest: Sequence[str]
    pictures: Sequence[Image]
    videos: Sequence[Clip] = ()


def shown_page(title: str, prompts: Iterable[ShownPrompt]) -> Iterator[str]:
    """The page in pieces. It holds all that it shows and runs no script."""
    yield f"{HEAD}<title>{html(title)}</title>\n<style>\n{asset('report.css')}</style>\n</head>\n<body>\n<main>\n"
    yield f"<h1>{html(title)}</h1>\n"
    for prompt in prompts:
        yield "<section>\n"
        yield from (f"<p>{html(line)}</p>\n" for line in prompt.head)
        yield from _pictures(prompt)
        yield f"<h2>Prompt</h2>\n{_lines(prompt.text)}\n{_lines(*prompt.rest)}\n</section>\n"
    yield "</main>\n</body>\n</html>\n"


def _pictures(prompt: ShownPrompt) -> Iterator[str]:
    clips = {clip.first: clip for clip in prompt.videos}
    place = 0
    while place < len(prompt.pictures):
        clip = clips.get(place)
        captions = [f"{seconds:.3f} s" for seconds in clip.seconds] if clip else [f"picture {place}"]
        if clip:
            yield f"<h2>{html(video_caption(clip))}</h2>\n"
        yield '<div class="strip">\n'
        for caption in captions:
            jpeg = base64.b64encode(thumbnail_of(prompt.pictures[place])).decode()
            image = f'<img src="data:image/jpeg;base64,{jpeg}" alt="picture {place}">'
            yield f"<figure>{image}<figcaption>{html(caption)}</figcaption></figure>\n"
            place += 1
        yield "</div>\n"


def video_caption(clip: Clip) -> str:
    """A video in one line: its name, the frames that are shown, its length.

    >>> video_caption(Clip(0, (0.0, 1.96), (0, 49), total=50, duration=2.0, fps=25.0, path="a/b.mp4", rule="frames=2,ends"))
    'b.mp4: 2 of 50 frames (frames=2,ends), 2.0 s'
    """
    part = "" if clip.start is clip.end is None else f", from {clip.start or 0:g} s to {_end(clip)}"
    return f"{os.path.basename(clip.path)}: {len(clip.seconds)} of {clip.total} frames ({clip.rule}), {clip.duration:.1f} s{part}"


def _end(clip: Clip) -> str:
    return "the end" if clip.end is None else f"{clip.end:g} s"


def _lines(*texts: str) -> str:
    return "<pre>" + "\n".join(html(line) for text in texts for line in text.split("\n")) + "</pre>"
