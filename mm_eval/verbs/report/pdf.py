"""The figures of `figures` as PDF, by matplotlib (`pip install 'mm-eval[figures]'`), which is imported here only.

    write_pdfs(write_figures(Path("figures"), table))

A figure is described once, as SVG: its rectangles, lines and texts are drawn again at the same places, a point for each pixel.
"""

from __future__ import annotations

import importlib.util
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from mm_eval.values.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MISSING = "no PDF was written: matplotlib is not installed. Install it: pip install 'mm-eval[figures]'"
FONTS = ("Helvetica", "Arial", "Liberation Sans", "DejaVu Sans")
SVG = "{http://www.w3.org/2000/svg}"


def is_available() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def write_pdfs(figures: Sequence[Path]) -> list[Path]:
    """Writes a PDF beside each SVG file and returns their paths. matplotlib must be installed. Raises OSError."""
    import matplotlib
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    written = []
    # the user's own settings (text.usetex, fonts as outlines) would change the figures
    with matplotlib.rc_context(dict(matplotlib.rcParamsDefault)), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a character that no font has is drawn as a box
        matplotlib.rcParams.update({"pdf.fonttype": 42, "font.family": _fonts()})
        for path in figures:
            drawn = io.BytesIO()
            figure = figure_of(path)
            FigureCanvasPdf(figure).print_pdf(drawn, metadata={"CreationDate": None})
            written.append(path.with_suffix(".pdf"))
            write_atomic(written[-1], drawn.getvalue(), durable=False)
    return written


def figure_of(path: Path) -> Figure:
    """An SVG file of `figures` as a figure of matplotlib."""
    from matplotlib.figure import Figure

    root = ElementTree.parse(path).getroot()
    wide, high = float(root.attrib["width"]), float(root.attrib["height"])
    figure = Figure(figsize=(wide / 72, high / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, wide), ylim=(high, 0))
    drawings = {f"{SVG}rect": _rect, f"{SVG}line": _line, f"{SVG}text": _text}
    for place, each in enumerate(root):  # a later one covers an earlier one; the title and the pattern are not drawn
        if each.tag in drawings:
            drawings[each.tag](axes, each, place)
    return figure


def _fonts() -> list[str]:
    """The fonts that are installed, of those that the SVG names, then of those with East Asian characters."""
    from matplotlib import font_manager

    known = font_manager.fontManager.get_font_names()
    return [name for name in FONTS if name in known] + sorted(name for name in known if "CJK" in name)


def _rect(axes: Axes, element: ElementTree.Element, place: int) -> None:
    from matplotlib.patches import Rectangle

    about = element.attrib
    if about["width"] == "100%":
        return  # the page is white
    fill, edge = about["fill"], about.get("stroke", "none")
    looks: dict[str, Any] = {"facecolor": fill, "edgecolor": edge, "zorder": place}
    looks["linewidth"] = float(about.get("stroke-width", 1))
    if fill.startswith("url("):
        looks.update(facecolor="white", hatch="///", hatchcolor="#e6e9ed")
    else:
        looks["alpha"] = float(about.get("fill-opacity", 1))
    x, y, wide, high = (float(about[name]) for name in ("x", "y", "width", "height"))
    axes.add_patch(Rectangle((x, y), wide, high, **looks))


def _line(axes: Axes, element: ElementTree.Element, place: int) -> None:
    x1, x2, y1, y2 = (float(element.attrib[name]) for name in ("x1", "x2", "y1", "y2"))
    axes.plot([x1, x2], [y1, y2], color=element.attrib["stroke"], linewidth=1, solid_capstyle="butt", zorder=place)


def _text(axes: Axes, element: ElementTree.Element, place: int) -> None:
    about = element.attrib
    axes.text(
        float(about["x"]),
        float(about["y"]),
        element.text or "",
        fontsize=float(about["font-size"]),
        color=about["fill"],
        ha={"start": "left", "middle": "center", "end": "right"}[about["text-anchor"]],
        va="baseline",
        weight=about.get("font-weight", "normal"),
        parse_math=False,
        zorder=place,
    )
