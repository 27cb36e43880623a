"""Settings of the search."""

from __future__ import annotations

from dataclasses import dataclass, fields

from engine.errors import ConfigError
from engine.ranges import check_range, shown

RANGES: dict[str, tuple[float, float]] = {
    "c_puct": (0, 100),
    "c_puct_log": (0, 100),
    "c_puct_base": (1, 1_000_000_000),
    "fpu_reduction": (-2, 2),
    "fpu_reduction_root": (-2, 2),
    "policy_temperature": (0.01, 100),
    "minimax_weight": (0, 1),
    "edge_cap": (0, 484),
    "transpositions": (False, True),
    "leaf_vcf_nodes": (0, 1_000_000_000),
    "leaf_defences": (False, True),
    "tree_vct_visits": (1, 1_000_000),
    "tree_vct_nodes": (0, 1_000_000),
    "max_tree_vct_nodes": (0, 1_000_000_000),
    "root_solver_nodes": (0, 1_000_000_000),
    "solver_table_log2": (4, 28),
    "final_minimax_weight": (0, 1),
    "lcb_min_visit_ratio": (0.001, 10),
    "lcb_stdev": (0, 10),
    "seed": (0, 2**63 - 1),
}
"""Least and greatest value of each field (derived: the kernel's types and tables; beyond what could be of use
where these allow anything)."""


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Settings of the search.

    With N the visits of a node, n those of an edge, P its prior and L the prior of proven edges,

    score = Q + c * P / (1 - L) * sqrt(N) / (1 + n),   c = c_puct + c_puct_log * log(1 + N / c_puct_base)

    where Q includes `minimax_weight`. An unvisited edge has
    Q = q_node - fpu_reduction * sqrt(visited part of P), at least -1.
    """

    c_puct: float = 1.1
    """Weight of exploration at few visits (tuned: 0.6 -43 Elo [-89, +4], 2 -29 [-74, +20], flat between,
    5,726 games, training/record/search.md)."""
    c_puct_log: float = 0.45
    """Its growth with the logarithm of visits (default of KataGo's family; tuned: nothing within 0 to 1 in
    19,112 games of at most 1,200 simulations, training/record/search.md)."""
    c_puct_base: float = 500.0
    """Visits where the growth sets in (default of KataGo's family)."""
    fpu_reduction: float = 0.2
    """How much worse than its node an unvisited move is taken to be (tuned: 0 -30 Elo [-59, +6], 0.6 -88
    [-144, -38], 5,726 games, training/record/search.md)."""
    fpu_reduction_root: float = 0.1
    """The same at the root, where width matters more (tuned: 0.2 -7 Elo [-15, +1] in 2,000 games; nothing
    seen within -0.1 to 0.6 in a survey of 9,726, training/record/search.md)."""
    policy_temperature: float = 1.6
    """Divides the net's logits; above 1 flattens the priors (tuned: with `lcb_min_visit_ratio` and
    `lcb_stdev` +15 Elo [+3, +26] over 1.3, 0.4 and 0.6 in 2,000 games, +23 [+7, +40] in 1,000 at equal time,
    training/record/search.md)."""
    minimax_weight: float = 0.2
    """How much of a visited move's value is the net's word on the end of its best line, the rest is the mean
    (tuned: +47 Elo [0, +95] over 0 in 200 games, 0.4 no better, training/record/search.md)."""
    edge_cap: int = 32
    """Moves a node stores at first, the best by prior; the others join when all of these have been visited.
    0: all at once. The root always has all. (derived: 32 hold > 99 % of a trained policy, in 1/7 of the
    memory)"""
    transpositions: bool = True
    """Whether positions reached by moves in another order share a node (tuned: +26 Elo [-16, +69] in 120
    games, training/record/search.md)."""
    leaf_vcf_nodes: int = 60
    """Solver budget at a new leaf, in placements; 0 switches the solver off inside the tree (tuned:
    +100 Elo for 60 over 0, nothing for 300 over 60)."""
    leaf_defences: bool = True
    """Whether a new leaf whose opponent threatens to win by fours keeps only the moves that may stop him
    (tuned: +19 Elo [+4, +33] over False in 1,000 games, training/record/solver.md; +10 [-4, +24] in 1,000 at
    equal time, training/record/solver.md)."""
    tree_vct_visits: int = 8
    """Visits of a node, the root apart, from which on the solver looks for its wins by fours and threes
    (tuned: -47 Elo with 2 and dearer calls, training/record/solver.md)."""
    tree_vct_nodes: int = 8
    """Its budget for each of these visits, in placements. Whenever the visits are four times as many it is
    asked again, with twice the budget; 0: a tree without such calls (tuned: with `root_solver_nodes` +12
    Elo [+3, +21] over 14 and 15 in 2,000 games at equal time, training/record/solver.md)."""
    max_tree_vct_nodes: int = 100_000
    """Largest such budget (derived: 30 ms)."""
    root_solver_nodes: int = 8
    """What the solver may spend at the root for each simulation with a line net, in placements (tuned: with
    `tree_vct_nodes`; 40 took 17 % of the time)."""
    solver_table_log2: int = 16
    """Size of the solver's tables, as a power of two (derived: 2.5 MB)."""
    final_minimax_weight: float = 0.6
    """What `minimax_weight` is inside the tree, for the choice of the move to play; nothing where that is 0
    (tuned: +22 Elo [+7, +37] over 0 in 1,000 games, 1 no better, training/record/search.md)."""
    lcb_min_visit_ratio: float = 0.15
    """Share of the most visited move's visits that a better one must have (tuned: with `policy_temperature`;
    0.5 -32 Elo [-61, -8] in 6,000 games, training/record/search.md)."""
    lcb_stdev: float = 1.0
    """Standard deviation of single evaluations, for that comparison (tuned: with `policy_temperature`; alone
    nothing seen within 0 to 1.8 in 19,112 games)."""
    seed: int = 0
    """Of the tree's own generator (root noise)."""

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            ConfigError: a value is out of its range, not a number, or no whole number where one is needed.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, int) and not isinstance(value, int):
                raise ConfigError(f"{field.name} needs {type(field.default).__name__}, not {shown(value)}")
            check_range(field.name, value, *RANGES[field.name])
