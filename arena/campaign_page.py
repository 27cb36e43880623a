"""The page of results of a campaign: what was played, what went wrong, how times are spread."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from arena.records import percentile

Row = Mapping[str, Any]
"""A game, as a line of games.jsonl."""
_SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)
_TITLES = "median | 90 % | 99 % | 99.9 % | largest"


def page(rows: Sequence[Row], planned: Mapping[str, int], settings: Mapping[str, Any], command: str) -> str:
    """Return the page, Markdown.

    Args:
        rows: the games that were played.
        planned: games of each part of the plan.
        settings: what makes the campaign.
        command: that continues it.
    """
    incidents = [(row, incident) for row in rows for incident in row["incidents"]]
    ours = [(row, i) for row, i in incidents if i["ours"]]
    lines = [
        "# Campaign", "",
        f"{len(rows)} of {sum(planned.values())} games, **{len(ours)} incidents** of the brain "
        f"({len(incidents) - len(ours)} of other opponents).", "",
        f"Brain: `{settings['brain'] or 'one a part'}`. The same command continues: `{command}`", "",
    ]  # fmt: skip
    done = Counter(row["part"] for row in rows)
    lines += ["| part | games | planned |", "|---|---|---|"]
    lines += [f"| {part} | {done[part]} | {games} |" for part, games in planned.items()]
    for title in ("part", "profile", "league", "opponent"):
        lines += ["", *_table(title, rows)]
    lines += ["", *_times(rows), "", "## Incidents", ""]
    if not incidents:
        lines.append("None.")
    else:
        lines += [f"- {n} {kind}" for kind, n in Counter(i["kind"] for _, i in ours).most_common()]
        lines += ["", "| game | whose | kind | profile | league | opponent | ply | what | conversation |"]
        lines.append("|---|---|---|---|---|---|---|---|---|")
        lines += [
            f"| {row['n']} | {'brain' if i['ours'] else 'opponent'} | {i['kind']} | {row['profile']} | "
            f"{row['league']} | {_cell(row['opponent'])} | {i['ply']} | {_cell(i['detail'])} | "
            f"`{conversation_name(row['n'])}` |"
            for row, i in incidents
        ]
    return "\n".join(lines) + "\n"


def conversation_name(number: int) -> str:
    """Return where the conversation of a game with an incident is kept, below the campaign's folder."""
    return f"incidents/{number:06d}.txt"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:120]


def _table(title: str, rows: Iterable[Row]) -> list[str]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[title]].append(row)
    lines = [f"| {title} | games | won, drawn, lost | plies, median | incidents |", "|---|---|---|---|---|"]
    for name in sorted(groups):
        group = groups[name]
        results = [sum(row["winner"] == who for row in group) for who in (0, None, 1)]
        bad = sum(i["ours"] for row in group for i in row["incidents"])
        plies = statistics.median(row["plies"] for row in group)
        lines.append(f"| {_cell(name)} | {len(group)} | {', '.join(map(str, results))} | {plies:g} | {bad} |")
    return lines


def _times(rows: Sequence[Row]) -> list[str]:
    figures: list[tuple[str, Callable[[Row], Iterable[float]]]] = [
        ("share of the turn limit used, %", lambda row: row["share"]),
        ("ms beyond the limit, waits for a core taken off", lambda row: row["over_ms"]),
        ("ms of the first move of a process", lambda row: row["cold_ms"]),
        ("ms from END to the exit", lambda row: row["exit_ms"]),
        ("private memory, MiB", lambda row: [row["mib"]] if row["mib"] else []),
    ]
    lines = [f"| | n | {_TITLES} |", "|---|---|---|---|---|---|---|"]
    for title, values_of in figures:
        values = [value for row in rows for value in values_of(row)]
        if values:
            spread = " | ".join(f"{percentile(values, share):.1f}" for share in _SHARES)
            lines.append(f"| {title} | {len(values)} | {spread} |")
    starved = sum(row["starved"] for row in rows)
    return [*lines, "", f"{starved} answers were late only because threads waited for a core."]
