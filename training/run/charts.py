"""Charts of curves as inline SVG, for pages that need no network and no library."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

_LIGHT = ("#2166ac", "#b2182b", "#1b7837", "#b35806", "#762a83", "#4d4d4d", "#01665e", "#c51b7d")
_DARK = ("#7fb3e6", "#f4877f", "#7fc97f", "#fdb863", "#c2a5cf", "#c8c8c8", "#80cdc1", "#f4a6d0")
_KEY = '<svg viewBox="0 0 10 10" aria-hidden=true><rect class=key width=10 height=10 /></svg>'
_WIDTH, _HEIGHT = 520, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 12, 40


def chart_style() -> str:
    """Return the rules of a page that shows charts, for light and dark screens."""
    light, dark = (
        ";".join(f"--c{i}:{colour}" for i, colour in enumerate(colours)) for colours in (_LIGHT, _DARK)
    )
    classes = "".join(f".c{i}{{--c:var(--c{i})}}" for i in range(len(_LIGHT)))
    return (
        f":root{{color-scheme:light dark;--page:#fff;--text:#222;--faint:#595959;--line:#d8d8d8;{light}}}"
        f"@media(prefers-color-scheme:dark){{:root{{--page:#16181c;--text:#e6e6e6;--faint:#a9adb3;"
        f"--line:#3a3e45;{dark}}}}}"
        f"{classes}svg{{width:100%;height:auto}}svg text{{font-size:11px;fill:var(--faint)}}"
        "polyline,.range{stroke:var(--c);fill:none}circle,.key{fill:var(--c)}.grid{stroke:var(--line)}"
        ".legend span{display:inline-block;white-space:nowrap;margin-right:12px;font-size:12px}"
        ".legend svg{width:10px;height:10px;margin-right:4px}"
    )


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
    title: str, x_label: str, curves: Sequence[Curve], y_range: tuple[float, float] | None = None,
    about: str = "",
) -> str:  # fmt: skip
    """Return a chart as a figure with an SVG element; one without points says so.

    Args:
        title: of the chart.
        x_label: what x counts.
        curves: to draw.
        y_range: fixed limits of y; None fits the points.
        about: a sentence on what the chart means.
    """
    head = f"<figure><figcaption>{html.escape(title)}</figcaption><p class=about>{html.escape(about)}</p>"
    curves = [Curve(curve.name, [p for p in curve.points if all(map(math.isfinite, p))]) for curve in curves]
    points = [p for curve in curves for p in curve.points]
    if not points:
        return f"{head}<p>no data</p></figure>"
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
        out.append(f'<g class="c{i % len(_LIGHT)}">')
        if curve.points and len(curve.points[0]) == 4:
            for x, _, low, high in curve.points:
                (px, p0), (_, p1) = at(x, low), at(x, high)
                out.append(f'<path class="range" opacity=".45" d="M{px:.1f} {p0:.1f}V{p1:.1f}"/>')
        path = " ".join("{:.1f},{:.1f}".format(*at(p[0], p[1])) for p in curve.points)
        out.append(f'<polyline stroke-width="1.6" points="{path}"/>')
        if len(curve.points) < 40:
            for p in curve.points:
                px, py = at(p[0], p[1])
                out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.2"/>')
        out.append("</g>")
    out.append("</svg>")
    legend = "".join(
        f'<span class="c{i % len(_LIGHT)}">{_KEY}{html.escape(curve.name)}</span>'
        for i, curve in enumerate(curves)
    )
    return f"{head}{''.join(out)}<p class=legend>{legend}</p></figure>"
