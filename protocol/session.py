"""The state machine between commands and answers.

It runs in one thread and never waits: a question goes to the search thread as a `Job` with a token, and the
answer comes back through `finished`. Whatever cancels a search forgets its token, so at most one answer goes
out for a question and none for a question that the manager has dropped.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable

from engine import Rule, SearchLimits
from protocol import commands as c
from protocol import replies
from protocol.answers import describe, fits, without_search
from protocol.job import Job, Kind, Outcome, Points, Progress, Thinker
from protocol.notation import Notation, notation
from protocol.position import BLACK, MAX_SIDE, MIN_SIDE, BoardFault, Position, from_board
from protocol.settings import Dialect, Settings
from protocol.text import error, unknown

PROGRESS_S = 0.2
"""Shortest time between two refreshes of the realtime marks (tuned: by eye, five a second)."""
SCRIPT_TURN_S = 0.05
"""Time to think about a question when input has ended (protocol: END ends the process within 200 ms)."""
_WAITS = frozenset({"TURN", "BEGIN", "PLAY", "YXNBEST"})
"""Commands that wait for the answer of the one before them."""


class Session:
    """One conversation with one manager."""

    def __init__(
        self,
        thinker: Thinker,
        send: Callable[[str], None],
        log: Callable[[str], None],
        dialect: Dialect | None = None,
    ) -> None:
        """Begin a conversation.

        Args:
            thinker: the search thread.
            send: puts one line into the pipe.
            log: notes what went wrong but was survived.
            dialect: None finds it out: Yixin from the first START after YXSHOWINFO, else Gomocup.
        """
        self._thinker = thinker
        self._send = send
        self._log = log
        self._wanted_dialect = dialect
        self._saw_yixin = dialect == "yixin"
        self._dialect: Dialect = dialect or "gomocup"
        self._settings = Settings()
        self._notation: Notation = notation(self._dialect, MAX_SIDE, MAX_SIDE)
        self._position: Position | None = None
        self._job: Job | None = None
        self._pondering = False
        self._waiting: deque[tuple[c.Command, float]] = deque()
        self._token = 0
        self._forget_tree = False
        self._new_game = False
        self._seen: frozenset[tuple[int, int]] = frozenset()  # stones that were last thought about
        self._at_once = False
        self._hurry_s = float("inf")
        self._progress_s = float("-inf")

    # --- what the loop calls ------------------------------------------------------------------------------

    @property
    def thinking(self) -> bool:
        """Whether an answer is due."""
        return self._job is not None

    def handle(self, command: c.Command, arrival_s: float) -> None:
        """Carry out a command that was read at `arrival_s`."""
        if self._job is not None and self._waits(command):
            self._waiting.append((command, arrival_s))
            return
        try:
            self._carry_out(command, arrival_s)
        except Exception:
            self._log(f"failure while carrying out {command}:\n{traceback.format_exc()}")
            if not isinstance(command, c.Info | c.Stop | c.HashClear | c.Ignored):
                self._send(error("internal failure, see the log"))

    def _carry_out(self, command: c.Command, arrival_s: float) -> None:
        match command:
            case c.Info():
                self._info(command, arrival_s)
            case c.Turn():
                self._turn(command, arrival_s)
            case c.Begin():
                if self._started("BEGIN"):
                    self._think("move", arrival_s)
            case c.Board():
                self._set_board(command, arrival_s)
            case c.Start():
                self._start(command)
            case c.Restart():
                self._restart()
            case c.TakeBack():
                self._take_back(command)
            case c.Play():
                self._play(command)
            case c.Swap2Board():
                self._swap2(command, arrival_s)
            case c.NBest():
                if self._started("YXNBEST"):
                    self._think("nbest", arrival_s, n=command.n)
            case c.Stop():
                self._hurry()
            case c.About():
                self._send(replies.about())
            case c.ShowForbid():
                self._show_forbidden()
            case c.ShowInfo():
                self._saw_yixin = self._wanted_dialect is None or self._saw_yixin
                for line in replies.capabilities():
                    self._send(line)
            case c.HashClear():
                self._forget_tree = True
            case c.Ignored():
                pass
            case c.Invalid():
                if command.word in ("START", "RECTSTART"):
                    self._cancel()
                self._send(error(command.reason))
            case c.Unknown():
                if not self._saw_yixin:  # Yixin-Board would take the answer for a move (protocol)
                    self._send(unknown(command.text))

    def finished(self, outcome: Outcome) -> None:
        """Take in the answer of the search thread; that to a dropped question is dropped."""
        if self._job is None or outcome.token != self._job.token:
            return
        job, points = self._job, outcome.points
        if points is None or not fits(job, points):
            self._log(f"no usable answer from the engine ({points}), playing a move without search")
            points = without_search(job)
        for line in describe(job, outcome, self._notation, self._log):
            self._send(line)
        self._answer(job, points)

    def progress(self, progress: Progress) -> None:
        """Show how a search goes, if the manager wants to see it."""
        now_s = self._thinker.now_s()
        if self._job is None or progress.token != self._job.token:
            return
        if now_s - self._progress_s < PROGRESS_S:
            return
        self._progress_s = now_s
        result = progress.result
        shown = [move.point for move in result.candidates[:10] if move.visits > 0]
        for line in replies.realtime(result, self._notation, shown):
            self._send(line)

    def watch(self) -> float:
        """Answer for a search that is overdue. Return when to look again, on the clock of arrivals."""
        if self._job is None:
            return float("inf")
        if self._thinker.now_s() >= self._hurry_s:
            self._hurry_s = float("inf")
            self._thinker.hurry()
        due_s = self._thinker.answer_by_s(self._job)
        if self._thinker.now_s() < due_s:
            return min(due_s, self._hurry_s)
        job = self._job
        self._log("the search is overdue, answering for it")
        self._thinker.hurry()
        best = self._thinker.best_so_far(job) if job.kind != "swap2" else None
        known = best is not None and fits(job, (best,))
        self._answer(job, (best,) if best is not None and known else without_search(job))
        return float("inf") if self._job is None else self._thinker.answer_by_s(self._job)

    def answer_at_once(self) -> None:
        """Input has ended while answers are still due to it: give them almost without thinking."""
        self._at_once = True
        self._hurry_s = self._thinker.now_s() + SCRIPT_TURN_S

    def abandon(self) -> None:
        """The manager is gone: drop everything that is being thought about."""
        self._cancel()

    # --- commands -----------------------------------------------------------------------------------------

    def _waits(self, command: c.Command) -> bool:
        if isinstance(command, c.Turn | c.Begin | c.Play | c.NBest | c.HashClear):
            return True
        if isinstance(command, c.Invalid):
            return command.word in _WAITS
        return isinstance(command, c.Info) and bool(self._waiting)

    def _started(self, word: str) -> bool:
        if self._position is None:
            self._send(error(f"{word} before START"))
        return self._position is not None

    def _info(self, info: c.Info, arrival_s: float) -> None:
        if not self._settings.apply(info.key, info.value, arrival_s) or self._job is None:
            return
        if info.key == "timeout_turn" and self._settings.turn_ms is not None and self._settings.turn_ms <= 0:
            self._hurry()
            return
        told_after_s = self._settings.told_s - self._job.arrival_s
        self._job.limits = self._settings.limits(max(0.0, told_after_s))
        self._thinker.relimit(self._job.limits)

    def _start(self, start: c.Start) -> None:
        self._cancel()
        if not (MIN_SIDE <= start.width <= MAX_SIDE and MIN_SIDE <= start.height <= MAX_SIDE):
            self._send(replies.bad_size(start.width, start.height))
            return
        self._dialect = self._wanted_dialect or ("yixin" if self._saw_yixin else "gomocup")
        self._notation = notation(self._dialect, start.width, start.height)
        self._position = Position(start.width, start.height)
        self._new_game = True
        self._settings.new_game()
        self._send(replies.OK)

    def _restart(self) -> None:
        if not self._started("RESTART"):
            return
        assert self._position is not None
        self._cancel()
        self._position.clear()
        self._seen = frozenset()
        self._new_game = self._forget_tree = True
        self._settings.new_game()
        self._send(replies.OK)

    def _free_point(self, a: int, b: int) -> int | None:
        """Return the point that a,b names; say what is wrong and return None if it is not free."""
        assert self._position is not None
        point = self._notation.point(a, b)
        if point is None:
            self._send(error(f"{a},{b} is off the board"))
        elif not self._position.is_empty(point):
            self._send(error(f"{a},{b} is taken"))
        else:
            return point
        return None

    def _turn(self, turn: c.Turn, arrival_s: float) -> None:
        if not self._started("TURN"):
            return
        point = self._free_point(turn.a, turn.b)
        if point is not None:
            self._place(point)
            self._think("move", arrival_s)

    def _play(self, play: c.Play) -> None:
        if not self._started("PLAY"):
            return
        point = self._free_point(play.a, play.b)
        if point is not None:
            self._drop_pondering()
            self._place(point)
            self._send(replies.moves([(play.a, play.b)]))

    def _take_back(self, take_back: c.TakeBack) -> None:
        if not self._started("TAKEBACK"):
            return
        assert self._position is not None
        point = self._notation.point(take_back.a, take_back.b)
        if point is None or self._position.is_empty(point):
            self._send(error(f"no stone at {take_back.a},{take_back.b}"))
            return
        self._cancel()
        self._position.take_back(point)
        self._send(replies.OK)

    def _set_board(self, board: c.Board, arrival_s: float) -> None:
        if self._position is None:
            self._refuse(board, "BOARD before START")
            return
        self._cancel()
        try:
            self._position = from_board(self._notation, board.stones, board.fault)
        except BoardFault as fault:
            self._refuse(board, str(fault))
            return
        if not board.silent:
            self._think("move", arrival_s)

    def _refuse(self, board: c.Board, reason: str) -> None:
        if board.silent:
            self._log(f"YXBOARD refused: {reason}")
        else:
            self._send(error(reason))

    def _swap2(self, swap2: c.Swap2Board, arrival_s: float) -> None:
        if not self._started("SWAP2BOARD"):
            return
        assert self._position is not None
        self._cancel()
        points = [self._notation.point(a, b) for a, b in swap2.stones]
        known = tuple(p for p in points if p is not None)
        fault = swap2.fault
        if len(known) < len(points) or len(set(known)) < len(known):
            fault = fault or "SWAP2BOARD names a point that is off the board or taken"
        if len(points) not in (0, 3, 5):
            fault = fault or f"SWAP2BOARD needs 0, 3 or 5 stones, not {len(points)}"
        if fault is not None:
            self._send(error(fault))
            return
        self._think("swap2", arrival_s, opening=known)

    def _show_forbidden(self) -> None:
        if not self._started("YXSHOWFORBID"):
            return
        position = self._position
        assert position is not None
        points = position.board(self._rule()).forbidden_points()
        self._send(replies.forbid(self._notation.pair(point) for point in points))

    # --- thinking -----------------------------------------------------------------------------------------

    def _rule(self) -> Rule:
        return self._settings.rule(self._dialect)

    def _place(self, point: int) -> None:
        assert self._position is not None
        self._position.place(point)
        if self._settings.continuous(self._dialect):
            self._position.bury_five(self._rule())

    def _make_job(self, kind: Kind, arrival_s: float, limits: SearchLimits) -> Job:
        position = self._position
        assert position is not None
        self._token += 1
        job = Job(
            token=self._token,
            kind=kind,
            width=position.width,
            height=position.height,
            rule=self._rule(),
            stones=tuple(position.stones),
            to_move=position.to_move,
            limits=limits,
            arrival_s=arrival_s,
            memory_bytes=self._settings.memory(),
            # Yixin-Board sends START before every move: only what does not go on is a new game.
            new_game=self._new_game and not (self._seen and self._seen <= set(position.stones)),
            clear_tree=self._forget_tree,
            wants_info=kind in ("move", "nbest") and bool(self._settings.show_detail & 1),
        )
        self._forget_tree = self._new_game = False
        self._seen = frozenset(position.stones)
        return job

    def _think(self, kind: Kind, arrival_s: float, *, opening: tuple[int, ...] = (), n: int = 1) -> None:
        assert self._position is not None
        if kind != "swap2" and self._position.is_full():
            self._send(error("the board is full"))
            return
        job = self._make_job(kind, self._settings.charged_from_s(arrival_s), self._settings.limits())
        job.opening, job.n = opening, n
        if kind == "swap2":
            job.stones, job.to_move = (), BLACK
        self._pondering = False
        self._hurry_s = self._thinker.now_s() + SCRIPT_TURN_S if self._at_once else float("inf")
        self._job = job
        self._thinker.start(job)

    def _answer(self, job: Job, points: Points) -> None:
        assert self._position is not None
        self._job = None
        self._settings.used(self._thinker.now_s() - job.arrival_s)
        if isinstance(points, str):
            self._send(points)
        else:
            pairs = [self._notation.pair(point) for point in points]
            if job.kind != "swap2":
                self._place(points[0])
            self._send(replies.moves(pairs))
        while self._waiting and self._job is None:
            command, arrival_s = self._waiting.popleft()
            self.handle(command, max(arrival_s, self._thinker.now_s()))
        if self._job is None and job.kind != "swap2":
            self._ponder()

    def _hurry(self) -> None:
        if self._job is not None:
            self._thinker.hurry()

    def _cancel(self) -> None:
        """Forget the question that is being thought about and those that wait behind it."""
        self._waiting.clear()
        if self._job is not None:
            self._job = None
            self._thinker.cancel()
        self._drop_pondering()

    def _ponder(self) -> None:
        if self._settings.pondering and not self._at_once and self._position and not self._position.is_full():
            self._pondering = True
            self._thinker.start(self._make_job("ponder", self._thinker.now_s(), SearchLimits()))

    def _drop_pondering(self) -> None:
        if self._pondering:
            self._pondering = False
            self._thinker.cancel()
