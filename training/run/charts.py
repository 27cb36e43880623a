"""Charts of curves as inline SVG, for pages that need no network and no library."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

_COLOURS = ("#2166ac", "#b2182b", "#1b7837", "#e08214", "#762a83", "#4d4d4d", "#35978f", "#c51b7d")
_WIDTH, _HEIGHT = 520, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 12, 40


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve: points (x, y), or (x, y, low, high) with an interval."""

    name: str
    points: Sequence[tuple[float, ...]]


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers that span low..high."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    step = 10 ** math.floor(math.log10(raw))
    step *= next(m for m in (1, 2, 5, 10) if m * step >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, int(high / step + 1e-9) + 1)]


def curve_chart(
    title: str, x_label: str, curves: Sequence[Curve], y_range: tuple[float, float] | None = None
) -> str:
    """Return a chart as an SVG element; one without points says so.

    Args:
        y_range: fixed limits of y; None fits the points.
    """
    curves = [Curve(curve.name, [p for p in curve.points if all(map(math.isfinite, p))]) for curve in curves]
    points = [p for curve in curves for p in curve.points]
    if not points:
        return f"<figure><figcaption>{html.escape(title)}</figcaption><p>no data</p></figure>"
    x0, x1 = min(p[0] for p in points), max(p[0] for p in points)
    y0, y1 = y_range or (min(min(p[1:]) for p in points), max(max(p[1:]) for p in points))
    x1, y1 = (x1 if x1 > x0 else x0 + 1), (y1 if y1 > y0 else y0 + 1)

    def at(x: float, y: float) -> tuple[float, float]:
        y = min(max(y, y0), y1)
        return (
            _LEFT + (x - x0) / (x1 - x0) * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - (y - y0) / (y1 - y0) * (_HEIGHT - _TOP - _BOTTOM),
        )

    out = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(title)}">']
    for value in ticks(y0, y1):
        _, y = at(x0, value)
        out.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        out.append(f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in ticks(x0, x1, 6):
        x, _ = at(value, y0)
        out.append(f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{value:g}</text>')
    out.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 6}" text-anchor="middle">{html.escape(x_label)}</text>')
    for i, curve in enumerate(curves):
        colour = _COLOURS[i % len(_COLOURS)]
        if curve.points and len(curve.points[0]) == 4:
            for x, _, low, high in curve.points:
                (px, p0), (_, p1) = at(x, low), at(x, high)
                out.append(f'<path stroke="{colour}" opacity=".35" d="M{px:.1f} {p0:.1f}V{p1:.1f}"/>')
        path = " ".join("{:.1f},{:.1f}".format(*at(p[0], p[1])) for p in curve.points)
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="{path}"/>')
        if len(curve.points) < 40:
            for p in curve.points:
                px, py = at(p[0], p[1])
                out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.2" fill="{colour}"/>')
    out.append("</svg>")
    legend = "".join(
        f'<span><i style="background:{_COLOURS[i % len(_COLOURS)]}"></i>{html.escape(curve.name)}</span>'
        for i, curve in enumerate(curves)
    )
    head = f"<figure><figcaption>{html.escape(title)}</figcaption>"
    return f"{head}{''.join(out)}<p class=legend>{legend}</p></figure>"
