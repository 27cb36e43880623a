"""Settings of older releases that are none any more: they are read, and what differs is reported once.

They go with release 0.3.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

RETIRED: dict[str, Any] = {
    "worker_silence_s": 120.0,
    "small_sizes": (),
    "small_share": 0.0,
    "play.fast_considered": 8,
    "play.gumbel.considered": 16,
    "play.gumbel.offset": 50.0,
    "play.gumbel.noise": 1.0,
    "play.gumbel.dirichlet": 0.1,
    "play.gumbel.dirichlet_total": 10.83,
    "play.reuse_tree": True,
    "play.root_vcf_nodes": 500,
    "play.leaf_vcf_nodes": 60,
    "play.max_ply_share": 1.0,
    "play.tree_bytes": 4 << 20,
    "play.opening.spread": 3,
    "play.opening.free_stones": 3,
    "play.opening.temperature": 1.2,
    "play.opening.max_value": 0.35,
    "play.opening.tries": 10,
    "learner.loss.reply": 0.15,
    "learner.loss.soft": 1.0,
    "learner.loss.soft_power": 0.25,
    "learner.total_batches": 0,
    "learner.kl_target": 0.02,
    "learner.kl_every": 20,
    "learner.weight_decay": 0.01,
    "learner.clip": 2.0,
    "learner.surprise": 0.5,
    "learner.bf16": None,
    "learner.threads": 1,
    "learner.keep_checkpoints": 3,
    "evaluation.size": None,
    "evaluation.rule": 0,
    "evaluation.yardstick_pairs": None,
    "evaluation.leaf_vcf_nodes": 60,
    "evaluation.threshold": 0.5,
}
"""Names and what holds in their place; None: it is decided elsewhere."""
_FOLLOWS = {
    "evaluation.size": "the largest of evaluation.sizes is taken",
    "evaluation.yardstick_pairs": "evaluation.pairs decides, up to 10",
    "learner.bf16": "the machine decides",
}
_SCHEDULES = ("step", "kl")
_DEFAULTS = {"evaluation.size": 15, "evaluation.yardstick_pairs": 10}


def drop_retired(settings: dict[str, Any], report: Callable[[str], None] | None) -> None:
    """Take settings that are none any more out of nested tables.

    Args:
        settings: as of a recipe or a run; changed in place.
        report: gets a line about each that asks for something else than what holds now.
    """
    for key, holds in RETIRED.items():
        *groups, name = key.split(".")
        table: Any = settings
        for group in groups:
            table = table.get(group) if isinstance(table, dict) else None
        if not isinstance(table, dict) or name not in table:
            continue
        value = table.pop(name)
        value = tuple(value) if isinstance(value, list) else value
        if report and value not in (holds, _DEFAULTS.get(key, holds)):
            instead = _FOLLOWS.get(key) or f"{holds} holds"
            report(f"{key} is no setting any more: {value} is ignored, {instead}")
    learner = settings.get("learner")
    if isinstance(learner, dict) and learner.get("schedule") in _SCHEDULES:
        schedule = learner.pop("schedule")
        if report:
            report(f"learner.schedule {schedule} is none any more: cosine is taken")


def retired_value(text: str) -> Any:
    """Return a value of such a setting as a text names it."""
    if text.lower() in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text.lower()]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return [part.strip() for part in text.split(",") if part.strip()]


def put_retired(settings: dict[str, Any], key: str, text: str) -> None:
    """Store such a setting in nested tables, as an older release would have done."""
    *groups, name = key.split(".")
    for group in groups:
        settings = settings.setdefault(group, {})
    settings[name] = retired_value(text)
