"""Figures as files for papers and slides, drawn by matplotlib. It is an extra, and imported only where a figure is drawn.

    require_matplotlib()
    write_figures(Path("figures"), {"heat-map": lambda: heat_map(table)})

Each is dark on white and as wide as the text of a paper, wider only where its labels need that. Equal numbers give equal files.
"""

from __future__ import annotations

import importlib.util
import io
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.values.errors import ConfigError
from mm_eval.values.files import write_atomic
from mm_eval.values.safe import in_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, SOFT, LINE = "#1d2125", "#454d57", "#d5d9de"
BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"
COLOURS = (
    BLUE,
    ORANGE,
    GREEN,
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7a7a00",
    "#8b4fbf",
    "#a0522d",
    "#e0457b",
    "#5fb800",
    "#7f8fa6",
)
"""Of models in their order, the same on every page; the first eight can be told apart by colour-blind readers."""
WIDTH = 5.5
"""Inches of a page's text in the narrower ones of the usual formats of papers."""
SIZE, SMALL = 8.0, 6.5
"""Heights of text, in points."""
SETTINGS: Mapping[str, object] = {
    "font.size": SIZE,
    "font.sans-serif": ["DejaVu Sans", "sans-serif"],
    "text.color": INK,
    "text.parse_math": False,
    "axes.axisbelow": True,
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.labelsize": SMALL,
    "axes.titlelocation": "left",
    "axes.titlesize": SIZE,
    "axes.unicode_minus": False,
    **{f"axes.spines.{side}": False for side in ("left", "right", "top", "bottom")},
    **{f"{axis}tick.major.size": 0 for axis in "xy"},
    **{f"{axis}tick.color": SOFT for axis in "xy"},
    **{f"{axis}tick.labelsize": SMALL for axis in "xy"},
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 1.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "mm-eval",
    "pdf.fonttype": 42,
}
"""Text stays text, so that a paper's tools can edit it, in the font that comes with matplotlib: its widths are known anywhere.
An SVG names the generic font, too, for readers without that one."""
DPI = 200
"""Pixels of an inch, for PNG."""
METADATA: Mapping[str, dict[str, object]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
"""The formats that are written, and what is left out of their metadata."""


def require_matplotlib() -> None:
    """Raises ConfigError if matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ConfigError(
            "figures are drawn by matplotlib, which is not installed.",
            hint="Install it: pip install 'mm-eval[figures]'",
        )


def write_figures(folder: Path, figures: Mapping[str, Callable[[], Figure]]) -> list[Path]:
    """Writes each figure as NAME.svg, .pdf and .png and returns their paths. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = list[Path]()
    for name, draw in figures.items():
        with settings():
            figure = draw()
            for ending in METADATA:
                written.append(folder / f"{name}.{ending}")
                write_atomic(written[-1], content(figure, ending), durable=False)
    return written


def content(figure: Figure, ending: str, dpi: int = DPI) -> bytes:
    """A figure as the content of a file, without the date."""
    out = io.BytesIO()
    figure.savefig(out, format=ending, dpi=dpi, metadata=METADATA[ending])
    return out.getvalue()


@contextmanager
def settings() -> Iterator[None]:
    """Settings of matplotlib in which every figure is drawn and written. The user's own (text.usetex) would change figures."""
    import matplotlib
    from matplotlib import font_manager

    eastern = sorted(name for name in font_manager.fontManager.get_font_names() if "CJK" in name)
    fonts = {"font.family": ["DejaVu Sans", *eastern, "sans-serif"]}
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **SETTINGS, **fonts}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a character that no font has is drawn as a box
        yield


def new_figure(height: float, remarks: Sequence[str] = (), width: float = WIDTH) -> Figure:
    """An empty figure, in inches. Its axes leave room for their labels and for the remarks, which stand below."""
    from matplotlib.figure import Figure

    below = [
        line for remark in remarks for line in textwrap.wrap(in_line(remark), int((width - 0.2) * 72 / (0.56 * SMALL)))
    ]
    figure = Figure((width, height + len(below) * 1.3 * SMALL / 72), layout="constrained")
    if below:
        figure.supxlabel("\n".join(below), x=0.1 / width, ha="left", fontsize=SMALL, color=SOFT)
    return figure


def text_width(text: str, size: float = SIZE, weight: str = "normal") -> float:
    """The width of a line of text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


def wrapped(text: str, width: float, size: float = SIZE, weight: str = "normal") -> str:
    """A name in lines of at most so many inches, broken after blanks, hyphens, slashes and underscores, and within camelCase."""
    lines = [""]
    for part in re.split(r"(?<=[\s/_-])|(?<=[a-z])(?=[A-Z])", in_line(text)):
        pieces = [part] if text_width(part.rstrip(), size, weight) <= width else list(part)
        for piece in pieces:
            if lines[-1] and text_width((lines[-1] + piece).rstrip(), size, weight) > width:
                lines.append("")
            lines[-1] += piece
    return "\n".join(line.strip() for line in lines)
