"""Settings of the search."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from engine.errors import ConfigError
from engine.ranges import check_range, shown


def setting(default: Any, low: float, high: float, *, unit: str = "", host: bool = False) -> Any:
    """Declare a setting: its default, the range that is allowed, its unit.

    Args:
        low, high: derived from the kernel's types and tables; wider than useful values where these allow any.
        host: whether only Python reads it; any other is a member of `SearchSettings` (`kernel/select.pxd`).
    """
    return field(default=default, metadata={"range": (low, high), "unit": unit, "host": host})


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Settings of the search.

    With N the visits of a node, n those of an edge, P its prior and L the prior of proven edges,

    score = Q + c * P / (1 - L) * sqrt(N) / (1 + n),   c = c_puct + c_puct_log * log(1 + N / c_puct_base)

    where Q includes `minimax_weight`. An unvisited edge has
    Q = q_node - fpu_reduction * sqrt(visited part of P), at least -1.
    """

    c_puct: float = setting(1.1, 0, 100)
    """Weight of exploration at few visits (tuned: 0.6 -43 Elo [-89, +4], 2 -29 [-74, +20], flat between,
    5,726 games, training/record/search.md)."""
    c_puct_log: float = setting(0.45, 0, 100)
    """Its growth with the logarithm of visits (default of KataGo's family; tuned: nothing within 0 to 1 in
    19,112 games of at most 1,200 simulations, training/record/search.md)."""
    c_puct_base: float = setting(500.0, 1, 1_000_000_000, unit="visits")
    """Visits where the growth sets in (default of KataGo's family)."""
    fpu_reduction: float = setting(0.2, -2, 2, unit="utility")
    """How much worse than its node an unvisited move is taken to be (tuned: 0 -30 Elo [-59, +6], 0.6 -88
    [-144, -38], 5,726 games, training/record/search.md)."""
    fpu_reduction_root: float = setting(0.1, -2, 2, unit="utility")
    """The same at the root, where width matters more (tuned: 0.2 -7 Elo [-15, +1] in 2,000 games; nothing
    seen within -0.1 to 0.6 in a survey of 9,726, training/record/search.md)."""
    policy_temperature: float = setting(1.6, 0.01, 100, host=True)
    """Divides the net's logits; a value above 1 flattens the priors (tuned: with `lcb_min_visit_ratio` and
    `lcb_stdev` +15 Elo [+3, +26] over 1.3, 0.4 and 0.6 in 2,000 games, +23 [+7, +40] in 1,000 at equal time,
    training/record/search.md)."""
    minimax_weight: float = setting(0.2, 0, 1, unit="share")
    """Weight of the value at the end of a visited move's best line; the rest is that of the mean (implicit
    minimax; tuned: +47 Elo [0, +95] over 0 in 200 games, 0.4 no better, training/record/search.md)."""
    edge_cap: int = setting(16, 0, 484, unit="moves")
    """Moves a node stores at first, the best by prior; the others are added when all of these have visits.
    0: all at once. The root always has all. (derived: after 20,000 simulations one node in a thousand has
    visits beyond its 16th move, 0.04 % of all)"""
    transpositions: bool = setting(True, False, True)
    """Whether positions reached by moves in another order share a node (tuned: +26 Elo [-16, +69] in 120
    games, training/record/search.md)."""
    leaf_vcf_nodes: int = setting(60, 0, 1_000_000_000, unit="placements")
    """Solver budget at a new leaf, in placements; 0 switches the solver off inside the tree (tuned:
    +100 Elo for 60 over 0, nothing for 300 over 60)."""
    leaf_defences: bool = setting(True, False, True)
    """Whether a new leaf whose opponent threatens to win by fours keeps only the moves that may stop it
    (tuned: +19 Elo [+4, +33] over False in 1,000 games, training/record/solver.md; +10 [-4, +24] in 1,000 at
    equal time, training/record/solver.md)."""
    tree_vct_visits: int = setting(8, 1, 1_000_000, unit="visits")
    """Visits of a node other than the root from which the solver searches it for VCT (tuned: -47 Elo with 2
    and larger budgets, training/record/solver.md)."""
    tree_vct_nodes: int = setting(8, 0, 1_000_000, unit="placements a visit")
    """Its budget for each of these visits, in placements. Whenever the visits are four times as many it is
    called again, with twice the budget; 0: no such calls (tuned: with `root_solver_nodes` +12
    Elo [+3, +21] over 14 and 15 in 2,000 games at equal time, training/record/solver.md)."""
    max_tree_vct_nodes: int = setting(100_000, 0, 1_000_000_000, unit="placements")
    """Largest such budget (derived: 30 ms)."""
    root_solver_nodes: int = setting(8, 0, 1_000_000_000, unit="placements a simulation", host=True)
    """Solver budget at the root for each simulation with a line net, in placements (tuned: with
    `tree_vct_nodes`; 40 took 17 % of the time)."""
    solver_table_log2: int = setting(16, 4, 28, unit="log2 of entries", host=True)
    """Size of the solver's tables, as a power of two (derived: 2.5 MB)."""
    final_minimax_weight: float = setting(0.6, 0, 1, unit="share", host=True)
    """The same weight for the choice of the move to play; without effect where `minimax_weight` is 0
    (tuned: +22 Elo [+7, +37] over 0 in 1,000 games, 1 no better, training/record/search.md)."""
    lcb_min_visit_ratio: float = setting(0.15, 0.001, 10, unit="ratio", host=True)
    """Share of the most visited move's visits that a better one must have (tuned: with `policy_temperature`;
    0.5 -32 Elo [-61, -8] in 6,000 games, training/record/search.md)."""
    lcb_stdev: float = setting(1.0, 0, 10, unit="utility", host=True)
    """Standard deviation of single evaluations, for that comparison (tuned: with `policy_temperature`; alone
    nothing seen within 0 to 1.8 in 19,112 games)."""
    seed: int = setting(0, 0, 2**63 - 1, host=True)
    """Seed of the tree's generator (root noise)."""

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            ConfigError: a value is out of its range, not a number, or no whole number where one is needed.
        """
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(f.default, int) and not isinstance(value, int):
                raise ConfigError(f"{f.name} needs {type(f.default).__name__}, not {shown(value)}")
            check_range(f.name, value, *f.metadata["range"])

    def kernel_settings(self, max_points: int, *, solver: bool) -> dict[str, Any]:
        """Return the members of `SearchSettings` by name.

        Args:
            max_points: what an `edge_cap` of 0 means.
            solver: whether the tree has a solver; without one the settings of the solver are 0.
        """
        members = {f.name: getattr(self, f.name) for f in fields(self) if not f.metadata["host"]}
        members["inverse_temperature"] = 1.0 / self.policy_temperature
        members["edge_cap"] = self.edge_cap or max_points
        if not solver or self.leaf_vcf_nodes == 0:
            members |= {"leaf_vcf_nodes": 0, "leaf_defences": False, "tree_vct_nodes": 0}
        return members


RANGES: dict[str, tuple[float, float]] = {f.name: f.metadata["range"] for f in fields(SearchParams)}
"""Smallest and largest value of each setting."""
