"""What manager and brain agree on between questions: settings, names of cells, the stones, what is new."""

from __future__ import annotations

from dataclasses import replace

from engine import Rule, SearchLimits
from engine.rules._board import MAX_SIDE
from protocol.blocked import Blocked
from protocol.forms import EVERY, Move
from protocol.job import Ask, Job
from protocol.notation import Notation, RowsFrom, notation
from protocol.position import Position
from protocol.settings import DETAIL, REALTIME, Dialect, Settings


class Table:
    """The state of a conversation that outlives a question.

    Attributes:
        settings: what INFO has set.
        position: None before START.
        names: what the manager calls the cells of this board.
        blocked: points that are not to be played.
        yixin: whether Yixin-Board was seen, which takes every line that is no remark for a move.
        forget_tree: whether the next search begins without what was searched before.
    """

    def __init__(self, dialect: Dialect | None = None, rows_from: RowsFrom | None = None) -> None:
        """Begin without a board.

        Args:
            dialect: None finds it out: Yixin from the first START after YXSHOWINFO, else Gomocup.
            rows_from: see `protocol.notation.notation`.
        """
        self._wanted = dialect
        self._rows_from = rows_from
        self.yixin = dialect == "yixin"
        self.dialect: Dialect = dialect or "gomocup"
        self.settings = Settings()
        self.position: Position | None = None
        self.names: Notation = notation(self.dialect, MAX_SIDE, MAX_SIDE, rows_from)
        self.blocked = Blocked()
        self.forget_tree = False
        self._new_game = False
        self._seen: frozenset[tuple[int, int]] = frozenset()  # stones that were last thought about
        self._token = 0

    def meet_yixin(self) -> None:
        """Yixin-Board has introduced itself."""
        self.yixin = self._wanted is None or self.yixin

    def start(self, width: int, height: int) -> None:
        """Begin a game on an empty board of this size."""
        self.dialect = self._wanted or ("yixin" if self.yixin else "gomocup")
        self.names = notation(self.dialect, width, height, self._rows_from)
        self.position = Position(width, height)
        self._new_game = True
        self.settings.new_game()

    def restart(self) -> None:
        """Begin a game on a board of the same size and forget everything."""
        assert self.position is not None
        self.position.clear()
        self._seen = frozenset()
        self._new_game = self.forget_tree = True
        self.settings.new_game()

    def rule(self) -> Rule:
        """Return the rule to play by."""
        return self.settings.rule(self.dialect)

    def place(self, point: int) -> None:
        """Put a stone of the side to move on a free point."""
        assert self.position is not None
        self.position.place(point)
        if self.settings.continuous(self.dialect):
            self.position.bury_five(self.rule())

    def limits(self, ask: Ask, elapsed_s: float = 0.0) -> SearchLimits:
        """Return the limits of a question, `elapsed_s` as in `Settings.limits`."""
        limits = self.settings.limits(elapsed_s, self.dialect)
        if ask.max_nodes is not None:
            limits = replace(limits, max_nodes=min(ask.max_nodes, limits.max_nodes or ask.max_nodes))
        if ask.share < 1.0:
            turn_ms, left_ms = (
                None if ms is None else int(ms * ask.share) for ms in (limits.turn_ms, limits.time_left_ms)
            )
            limits = replace(limits, turn_ms=turn_ms, time_left_ms=left_ms)
        return limits

    def job(self, ask: Ask, arrival_s: float, limits: SearchLimits) -> Job:
        """Return a question as the search thread takes it, with a token of its own."""
        position = self.position
        assert position is not None
        self._token += 1
        blocked: frozenset[int] = frozenset()
        if ask.kind in ("move", "nbest"):
            blocked = self.blocked.at(self.names, (point for point, _ in ask.stones))
        job = Job(
            token=self._token,
            kind="nbest" if blocked else ask.kind,
            width=position.width,
            height=position.height,
            rule=self.rule(),
            stones=ask.stones,
            to_move=ask.to_move,
            limits=limits,
            arrival_s=arrival_s,
            form=ask.form,
            opening=ask.opening,
            n=EVERY if blocked else ask.n,
            listed=ask.listed,
            blocked=blocked,
            memory_bytes=self.settings.memory(),
            # Yixin-Board sends START before every move: only what does not go on is a new game.
            new_game=self._new_game and not (self._seen and self._seen <= set(position.stones)),
            clear_tree=self.forget_tree,
            wants_info=(
                ask.kind in ("move", "nbest") and isinstance(ask.form, Move)
                and bool(self.settings.show_detail & (REALTIME | DETAIL))
            ),
        )
        self.forget_tree = self._new_game = False
        self._seen = frozenset(position.stones)
        return job
