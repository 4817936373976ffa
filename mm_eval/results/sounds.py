"""The sounds of a run folder as its pages play them, by the digest of the clip: mono Opus, with the outline of the wave.

    media/sounds.jsonl     a line for each: {"digest", "form", "wave", "content": base64; null for one that is a file}
    media/ab/<digest>.ogg  the larger ones, which pages load from beside them

Without PyAV's Opus a clip is kept as the file that it is, or as WAV. They are made after a run from its data, until `MOST`
bytes are there; the page says of the others that they were not kept.
"""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.data.sound.clip import Sound
from mm_eval.data.sound.forms import MIME
from mm_eval.values.errors import DataError, MMEvalError
from mm_eval.values.files import write_atomic
from mm_eval.values.run_files import json_value, lines_of, refuse_links_out
from mm_eval.values.safe import href
from mm_eval.values.types import Fields

if TYPE_CHECKING:
    from mm_eval.data.sound.clip import Samples
    from mm_eval.prompt.task import PromptStyle, Task

FILE = "sounds.jsonl"
IN_PAGE, MOST = 200_000, 4 * 2**20
"""The largest clip that a page contains itself: a minute of Opus. The bytes of all clips of a run folder: about a
quarter of an hour, which takes five CPU seconds to encode."""
LONGEST = 600.0
"""Seconds of the longest clip that is kept."""
RATE, BIT_RATE = 16_000, 24_000
BARS = 96
"""Bars of the outline of a wave; each is its loudest sample, as two hexadecimal digits."""
MOST_LINE = 2 * IN_PAGE


@dataclass(frozen=True)
class KeptSound:
    """A clip that the folder has. form: the ending of its file. content: base64; None for one that is a file of its own."""

    form: str
    wave: str
    content: str | None

    def address(self, folder: Path, digest: str, page_folder: Path) -> str:
        """A data URL, or the path of its file from the page."""
        if self.content is not None:
            return f"data:{MIME[self.form]};base64,{self.content}"
        return href(Path(os.path.relpath(_file(folder, digest, self.form), page_folder)))


def _file(folder: Path, digest: str, form: str) -> Path:
    return folder / "media" / digest[:2] / f"{digest}.{form}"


def kept_sounds(folder: Path) -> dict[str, KeptSound]:
    """The clips that a run folder has, by digest. Lines that can't be read are left out."""
    found: dict[str, KeptSound] = {}
    with suppress(OSError):
        for _, line in lines_of(folder, folder / "media" / FILE, most=MOST_LINE):
            with suppress(ValueError, KeyError, TypeError):
                entry = json_value(line or b"")
                if entry["form"] in MIME and isinstance(entry["digest"], str):
                    content = entry["content"] if isinstance(entry["content"], str) else None
                    found[entry["digest"]] = KeptSound(entry["form"], str(entry["wave"]), content)
    return found


def write_sounds(folder: Path, tasks: Mapping[str, tuple[Task, PromptStyle, Iterable[Fields]]]) -> int:
    """Keeps the clips of samples that the folder lacks, in the order of the rows, and returns how many were added.

    tasks: {name: (task, style, rows of samples/)}. A clip that can't be read any more is left out.
    """
    kept = kept_sounds(folder)
    size = sum(len(each.content or "") for each in kept.values())
    added = 0
    for task, style, rows in tasks.values():
        for row in rows:
            wanted = {each["digest"] for each in row.get("sounds") or ()} - kept.keys()
            if not wanted or size >= MOST:
                continue
            for sound in _sounds_of(task, style, row["doc_id"]):
                with suppress(MMEvalError, OSError, ValueError):
                    if sound.digest in wanted and sound.duration <= LONGEST:
                        made = _kept(folder, sound)
                        kept[sound.digest] = made
                        size += len(made.content or "") or IN_PAGE
                        added += 1
    if added:
        refuse_links_out(folder, "media")
        lines = (
            json.dumps({"digest": digest, "form": one.form, "wave": one.wave, "content": one.content}) + "\n"
            for digest, one in kept.items()
        )
        write_atomic(folder / "media" / FILE, "".join(lines).encode(), durable=False)
    return added


def _sounds_of(task: Task, style: PromptStyle, doc_id: int) -> list[Sound]:
    with suppress(DataError, MMEvalError):
        shown = task.pictures(task.docs.full(doc_id), style, f"doc {doc_id}", task.docs.places)
        return [each for each in shown if isinstance(each, Sound)]
    return []


def _kept(folder: Path, sound: Sound) -> KeptSound:
    """The clip, encoded; a larger one is written to a file of its own."""
    samples = sound.samples(mono=True)
    wave = outline(samples)
    form, content = opus(samples, sound.rate) or sound.encoded(tuple(MIME))
    if len(content) <= IN_PAGE:
        return KeptSound(form, wave, base64.b64encode(content).decode())
    refuse_links_out(folder, "media")
    write_atomic(_file(folder, sound.digest, form), content, durable=False)
    return KeptSound(form, wave, None)


def outline(samples: Samples) -> str:
    """The loudest sample of each of BARS parts of a clip, of the loudest of all, as hexadecimal digits."""
    import numpy as np

    if not len(samples):
        return "00" * BARS
    edges = np.linspace(0, len(samples), BARS + 1).astype(int)
    loud = np.array([np.abs(samples[a : max(b, a + 1)]).max(initial=0) for a, b in zip(edges, edges[1:], strict=False)])
    top = float(loud.max()) or 1.0
    return "".join(f"{round(255 * float(each) / top):02x}" for each in loud)


def opus(samples: Samples, rate: int) -> tuple[str, bytes] | None:
    """(form, content) of a clip as Opus; None where PyAV is missing or can't write it."""
    import numpy as np

    try:
        import av

        file = io.BytesIO()
        with av.open(file, "w", format="ogg", options={"fflags": "+bitexact"}) as container:
            stream = container.add_stream("libopus", rate=RATE, options={"compression_level": "1"})
            stream.layout, stream.bit_rate = "mono", BIT_RATE
            whole = np.clip(np.round(samples * 32767), -32768, 32767).astype("<i2")[None]
            frame = av.AudioFrame.from_ndarray(whole, format="s16", layout="mono")
            frame.sample_rate = rate
            resampler = av.AudioResampler(format=stream.format, layout="mono", rate=RATE)
            for part in [*resampler.resample(frame), *resampler.resample(None)]:
                container.mux(stream.encode(part))
            container.mux(stream.encode(None))
    except Exception:  # foreign code: another form of the clip plays as well
        return None
    return "ogg", file.getvalue()
