"""The page about a run: `training.report` is the command.

Everything comes from the run directory (log, standings, records); the page needs no network.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.rules.rule import Rule
from training.data.imports import count_games
from training.data.records import DRAW, End
from training.data.shards import RecordError, list_shards, read_shard
from training.files.foreign import ForeignFileError, is_number, parse_table, read_bounded, read_table
from training.files.naming import shown_name
from training.measure.gate import read_standings
from training.run.charts import Curve, chart_style, curve_chart
from training.run.display import time_text
from training.run.log import LOG_BYTES
from training.run.state import State, read_state

_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:1120px;margin:2em auto;padding:0 1em}
body{overflow-wrap:anywhere;background:var(--page);color:var(--text)}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(420px,100%),1fr));gap:18px}
figure{margin:0;border:1px solid var(--line);border-radius:6px;padding:8px}figcaption{font-weight:600}
.about{margin:2px 0 6px;font-size:13px;color:var(--faint)}pre{overflow-x:auto}
table{border-collapse:collapse}td,th{border:1px solid var(--line);padding:3px 8px;text-align:right}
td:first-child{text-align:left}
"""
_BINS = 24


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the events of a log; lines that a kill cut off or no run has written are left out.

    Raises:
        OSError: it cannot be read.
        ForeignFileError: it is too large.
    """
    out = []
    for line in read_bounded(path, LOG_BYTES).decode(errors="replace").splitlines():
        try:
            event = parse_table(line.encode(), path)
        except ForeignFileError:
            continue
        if is_number(event.get("time")) and _fits(event):
            out.append(event)
    return out


def _fits(event: dict[str, Any]) -> bool:
    """Return whether an event has what the page asks of its kind."""
    kind = event.get("event")
    if kind == "match":
        depth = event.get("depth")
        return (
            all(isinstance(event.get(name), str) for name in ("a", "b"))
            and all(is_number(event.get(name)) for name in ("size", "score", "low", "high"))
            and isinstance(depth, dict)
            and all(map(is_number, depth.values()))
        )
    if kind == "ratings":
        return isinstance(event.get("net"), str)
    return isinstance(kind, str) and (kind != "play" or is_number(event.get("games", 0)))


class _Clock:
    """Turns event times into hours of training: time between a stop (or kill) and a start does not count."""

    def __init__(self, events: Sequence[dict[str, Any]]) -> None:
        self._hours: list[float] = []
        self.games: list[int] = []
        hours, games, last = 0.0, 0, None
        for event in events:
            if last is not None and event["event"] != "start":
                hours += max(0.0, event["time"] - last) / 3600
            last = event["time"]
            games += int(event.get("games", 0)) if event["event"] == "play" else 0
            self._hours.append(hours)
            self.games.append(games)

    def hours(self, index: int) -> float:
        return self._hours[index]


def make_report(run_dir: Path) -> str:
    """Return the page as HTML.

    Raises:
        OSError: no log in the run directory.
        ForeignFileError: a file of the run holds what no run has written.
    """
    events = read_log(run_dir / "log.jsonl")
    clock = _Clock(events)
    charts = [
        *_strength(run_dir, events, clock),
        *_learning(events, clock),
        *_games(run_dir),
        *_speed(events, clock),
    ]
    title = f"Training run {shown_name(run_dir)}"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        f"<title>{html.escape(title)}</title>"
        f"<style>{chart_style()}{_STYLE}</style><h1>{html.escape(title)}</h1>"
        f"{_summary(run_dir, events, clock)}"
        f"<main>{''.join(charts)}</main>{_ladder(run_dir)}{_settings(run_dir)}</html>\n"
    )


def _curve(
    events: Sequence[dict[str, Any]], clock: _Clock, kind: str, key: str, name: str | None = None
) -> Curve:
    points = [
        (clock.hours(i), float(e[key]))
        for i, e in enumerate(events)
        if e["event"] == kind and is_number(e.get(key))
    ]
    return Curve(name or key.replace("_", " "), points)


def _learning(events: Sequence[dict[str, Any]], clock: _Clock) -> list[str]:
    def chart(title: str, about: str, *keys: str) -> str:
        lines = [_curve(events, clock, "learn", key) for key in keys]
        return curve_chart(title, "hours", [line for line in lines if line.points], about=about)

    return [
        chart(
            "Losses",
            "Cross entropy in nats of each head on the batches it learned from. They fall at first; a rise "
            "later is usual when the games become harder.",
            "loss", "policy", "value", "reply", "soft",
        ),
        chart(
            "Entropy of targets and of the policy, nats",
            "How undecided the search and the net are. The net's curve should come near that of the targets "
            "from above; near 0 means that the net has one idea only.",
            "target_entropy", "entropy", "policy_entropy",
        ),
        chart(
            "Explained variance of the value",
            "How much of the results the net foretells: 0 nothing, 1 all. Good nets have about a half.",
            "explained_variance",
        ),
        chart(
            "KL of the policy",
            "How far the net's policy is from the target. The lower the better.",
            "policy_kl",
        ),
        chart("Learning rate", "The size of a step. It falls towards the end of a run with an end.", "lr"),
    ]  # fmt: skip


def _speed(events: Sequence[dict[str, Any]], clock: _Clock) -> list[str]:
    keys, shares = ("positions_per_s",), ("evaluated_share", "rejected_openings", "cores_busy")
    stale = [_curve(events, clock, "play", k) for k in ("staleness", "staleness_most")]
    far = curve_chart(
        "Age of the nets that played on a cluster, in newer nets", "hours", stale,
        about="How many newer nets there were when a game was played; 1 is usual.",
    )  # fmt: skip
    return [
        curve_chart(
            "Self-play, positions a second", "hours", [_curve(events, clock, "play", k) for k in keys],
            about="Speed of all workers together. A fall means that something else uses the machine.",
        ),
        curve_chart(
            "Shares in self-play", "hours", [_curve(events, clock, "play", k) for k in shares], (0.0, 1.0),
            "Simulations that asked the net (the others were proven or known), openings refused as too "
            "uneven, and cores in use: below 0.9 something waits.",
        ),
        *([far] if stale[0].points else []),
    ]  # fmt: skip


def _strength(run_dir: Path, events: Sequence[dict[str, Any]], clock: _Clock) -> list[str]:
    elo = read_standings(run_dir / "standings.json").ratings()
    by_hours, by_games = [], []
    scores: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    depths: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for i, event in enumerate(events):
        if event["event"] == "ratings" and event["net"] in elo:
            value, half = elo[event["net"]]
            by_hours.append((clock.hours(i), value, value - half, value + half))
            by_games.append((float(clock.games[i]), value, value - half, value + half))
        if event["event"] == "match":
            if not str(event["b"]).startswith("c0"):
                name = f"{event['b']} {event['size']}x{event['size']}"
                scores[name].append((clock.hours(i), event["score"], event["low"], event["high"]))
            if event["a"] in event["depth"]:
                depths[f"{event['size']}x{event['size']}"].append(
                    (clock.hours(i), event["depth"][event["a"]])
                )
    return [
        curve_chart(
            "Elo over time, 95 %", "hours", [Curve("net", by_hours)],
            about="Strength of each measured net at equal simulations; 0 is a search without a net. While it "
            "rises, more training helps.",
        ),
        curve_chart(
            "Elo over games, 95 %", "games", [Curve("net", by_games)],
            about="The same over the games played so far: what the games were worth, whatever the machine.",
        ),
        curve_chart(
            "Score against opponents without a net", "hours",
            [Curve(n, p) for n, p in sorted(scores.items())], (0, 1),
            "1 wins all games, 0.5 is even. An opponent that was beaten twice by 98 % is not asked again.",
        ),
        curve_chart(
            "Mean search depth of the measured nets", "hours",
            [Curve(n, p) for n, p in sorted(depths.items())],
            about="Plies of the search's mean line, the untrained net first. A surer net looks further.",
        ),
    ]  # fmt: skip


def _games(run_dir: Path) -> list[str]:
    """Charts over the games themselves, by rule."""
    lengths: dict[int, list[tuple[int, float]]] = defaultdict(list)
    black: dict[int, list[tuple[int, float]]] = defaultdict(list)
    ends: dict[str, list[tuple[int, float]]] = defaultdict(list)
    number = 0
    for path in list_shards(run_dir / "records"):
        try:
            games = read_shard(path)
        except RecordError:
            continue
        for game in games:
            number += 1
            lengths[game.rule].append((number, float(len(game.moves)) / (game.width * game.height)))
            black[game.rule].append((number, 0.5 if game.winner == DRAW else float(game.winner == 0)))
            for end in End:
                ends[end.name.lower().replace("_", " ")].append((number, float(game.end == end)))

    def curves(data: dict[int, list[tuple[int, float]]]) -> list[Curve]:
        return [
            Curve(Rule(rule).name.lower(), _binned(points, number)) for rule, points in sorted(data.items())
        ]

    used = [
        Curve(name, _binned(points, number)) for name, points in ends.items() if any(p[1] for p in points)
    ]
    return [
        curve_chart(
            "Length of games, share of the board", "games", curves(lengths),
            about="Stones at the end over cells of the board. Early proofs make games short.",
        ),
        curve_chart(
            "Score of black", "games", curves(black), (0.0, 1.0),
            "0.5 is even: openings are drawn so that neither side is ahead. Far from it they are not level.",
        ),
        curve_chart(
            "How games end", "games", used, (0.0, 1.0),
            "Share of each reason. Most games of a net that has learned end by a proof of the solver.",
        ),
    ]  # fmt: skip


def _binned(points: Sequence[tuple[int, float]], last: int) -> list[tuple[float, float]]:
    if not points:
        return []
    x, y = np.array([p[0] for p in points]), np.array([p[1] for p in points])
    bins = np.minimum((x - 1) * _BINS // max(last, 1), _BINS - 1)
    return [
        (float(x[bins == b].mean()), float(y[bins == b].mean())) for b in range(_BINS) if (bins == b).any()
    ]


def _summary(run_dir: Path, events: Sequence[dict[str, Any]], clock: _Clock) -> str:
    state, (own, others) = read_state(run_dir) or State(), count_games(run_dir / "records")
    best_path = run_dir / "best.json"
    best = read_table(best_path) if best_path.exists() else {}
    parts = [
        f"{max(state.games, own.games):,} games"
        + (f" and {others.games:,} of other runs" if others.games else ""),
        f"{max(state.positions, own.positions):,} positions",
        f"{state.cycle} cycles",
        f"{time_text(3600 * clock.hours(-1) if events else 0)} of training",
    ]
    if best and all(is_number(best.get(name)) for name in ("elo", "elo_half_width")):
        elo = f"Elo {best['elo']:+.0f} +- {best['elo_half_width']:.0f}"
        parts.append(f"best net {best.get('net')!s:.80}, {elo}")
    refused = sum(event["event"] == "refused" for event in events)
    if refused:
        parts.append(f"{refused} exports refused")
    return f"<p>{html.escape('; '.join(parts))}.</p>"


def _ladder(run_dir: Path) -> str:
    elo = read_standings(run_dir / "standings.json").ratings()
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{value:+.0f}</td><td>{half:.0f}</td></tr>"
        for name, (value, half) in sorted(elo.items(), key=lambda item: -item[1][0])
    )
    return f"<h2>Players</h2><table><tr><th>player</th><th>Elo</th><th>+-</th></tr>{rows}</table>"


def _settings(run_dir: Path) -> str:
    path = run_dir / "config.json"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return f"<h2>Settings</h2><details><summary>config.json</summary><pre>{html.escape(text)}</pre></details>"
