"""Makes docs/guides/deciding.svg: a comparison that stops. The answers are drawn (benchmarks/deciding.py).

python docs/make/deciding.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 360, 62, 34, 24, 50
MOST = 16.0
"""Points of percent at the upper end of the drawing."""


def main() -> None:
    """Draws one pair of models over 20 looks: its difference, and how far from 0 it must be at each."""
    import numpy as np
    from deciding import ALPHA, Tested, an_order, drawn

    from mm_eval.deciding.boundaries import group_sequential
    from mm_eval.deciding.sequences import as_t

    benchmark = drawn("drawn", 19, 1901, 0.9, 1)
    order = an_order(benchmark, 20, 0)
    pair = (benchmark.scores[9] - benchmark.scores[4])[None, :]
    tested = Tested.of(pair, order)
    critical = group_sequential(order.times, ALPHA).critical
    needed = [
        100 * as_t(round(c, 9), int(n) - 1) * e
        for c, n, e in zip(critical, tested.clusters, tested.stderr[0], strict=True)
    ]
    stop = int(tested.stops(order)[0][0])
    points = 100 * tested.difference[0]

    def x(share: float) -> float:
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        half = (HEIGHT - TOP - BOTTOM) / 2
        return TOP + half - half * float(np.clip(value, -MOST, MOST)) / MOST

    def path(values: list[tuple[float, float]]) -> str:
        return " ".join(f"{x(share):.1f},{y(value):.1f}" for share, value in values)

    times = list(order.times)
    upper, lower = list(zip(times, needed, strict=True)), list(zip(times, [-each for each in needed], strict=True))
    seen = list(zip(times, points.tolist(), strict=True))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
        "<title>A comparison of two models that stops when it is decided</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<polygon points="{path(upper)} {path(lower[::-1])}" fill="#e8ebf2"/>',
        f'<polyline points="{path(upper)}" fill="none" stroke="#8a93a6" stroke-width="1.5"/>',
        f'<polyline points="{path(lower)}" fill="none" stroke="#8a93a6" stroke-width="1.5"/>',
        f'<line x1="{x(0)}" y1="{y(0):.1f}" x2="{x(1)}" y2="{y(0):.1f}" stroke="#5c6373"/>',
        f'<polyline points="{path(seen[stop:])}" fill="none" stroke="#b9c6de" stroke-width="2" stroke-dasharray="4 4"/>',
        f'<polyline points="{path(seen[: stop + 1])}" fill="none" stroke="#1f5fbf" stroke-width="2.5"/>',
        *(f'<circle cx="{x(t):.1f}" cy="{y(v):.1f}" r="3" fill="#1f5fbf"/>' for t, v in seen[:stop]),
        f'<circle cx="{x(seen[stop][0]):.1f}" cy="{y(seen[stop][1]):.1f}" r="6" fill="#c2410c"/>',
        f'<text x="{x(seen[stop][0]) + 10:.1f}" y="{y(seen[stop][1]) - 24:.1f}" fill="#c2410c">decided after '
        f"{seen[stop][0]:.0%} of the docs</text>",
        f'<text x="{x(0.985):.1f}" y="{y(0) - 7:.1f}" fill="#5c6373" text-anchor="end">no difference yet</text>',
        f'<text x="{x(0.3):.1f}" y="{y(-12.6):.1f}" fill="#5c6373">grey: how far from 0 the difference must be</text>',
    ]
    for value in (-15, -10, -5, 0, 5, 10, 15):
        parts.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end" fill="#333">{value:+d}</text>')
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1.0):
        parts.append(f'<text x="{x(share):.1f}" y="{HEIGHT - 28}" text-anchor="middle" fill="#333">{share:.0%}</text>')
    parts.append(f'<text x="{x(0.5):.1f}" y="{HEIGHT - 8}" text-anchor="middle" fill="#333">share of the docs</text>')
    parts.append(
        f'<text x="14" y="{TOP - 12}" fill="#333">difference of the two models, percentage points</text></svg>'
    )
    (ROOT / "docs" / "guides" / "deciding.svg").write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
