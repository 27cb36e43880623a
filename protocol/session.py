"""What is done about each command of a manager: the state machine between commands and answers.

It runs in one thread and never waits. A question that needs thought goes to `protocol.thinking`; what cannot
be answered before it waits in a queue, what replaces it drops it.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable

from engine import SearchLimits
from engine.rules._board import MAX_SIDE, MIN_SIDE
from protocol import commands as c
from protocol import questions, replies
from protocol.job import Outcome, Progress, Thinker
from protocol.notation import RowsFrom
from protocol.position import BoardFault, from_board
from protocol.settings import Dialect
from protocol.table import Table
from protocol.text import error, message, unknown
from protocol.thinking import Thinking

_WAITS = frozenset({"TURN", "BEGIN", "PLAY", "YXNBEST", "YXBALANCEONE", "YXBALANCETWO", "PONDER"})
"""Commands that wait for the answer of the one before them."""
_DISPLACE = c.Turn | c.Begin | c.Play | c.NBest | c.Balance
"""Commands by which Yixin-Board goes on while the brain still looks for n best moves."""


class Session:
    """One conversation with one manager."""

    def __init__(
        self,
        thinker: Thinker,
        send: Callable[[str], None],
        log: Callable[[str], None],
        dialect: Dialect | None = None,
        rows_from: RowsFrom | None = None,
    ) -> None:
        """Begin a conversation.

        Args:
            thinker: the search thread.
            send: puts one line into the pipe.
            log: notes what went wrong but was survived.
            dialect: None finds it out: Yixin from the first START after YXSHOWINFO, else Gomocup.
            rows_from: see `protocol.notation.notation`.
        """
        self._thinker = thinker
        self._send = send
        self._log = log
        self._table = Table(dialect, rows_from)
        self._thinking = Thinking(self._table, thinker, send, log, self._go_on)
        self._waiting: deque[tuple[c.Command, float]] = deque()

    # --- what the loop calls ------------------------------------------------------------------------------

    @property
    def thinking(self) -> bool:
        """Whether an answer is due."""
        return self._thinking.job is not None

    def handle(self, command: c.Command, arrival_s: float) -> None:
        """Carry out a command that was read at `arrival_s`."""
        job = self._thinking.job
        if job is not None and self._waits(command):
            if job.form.awaited or not self._table.yixin or not isinstance(command, _DISPLACE):
                self._waiting.append((command, arrival_s))
                return
            self._thinking.cancel()  # Yixin-Board does not wait for n best moves: both go on
            self._go_on(moved=False)
        try:
            self._carry_out(command, arrival_s)
        except Exception:
            self._log(f"failure while carrying out {command}:\n{traceback.format_exc()}")
            if not isinstance(command, c.Info | c.Stop | c.HashClear | c.Ignored):
                self._send(error("internal failure, see the log"))

    def finished(self, outcome: Outcome) -> None:
        """Take in the answer of the search thread; that to a dropped question is dropped."""
        self._thinking.finished(outcome)

    def progress(self, progress: Progress) -> None:
        """Show how a search goes, if the manager wants to see it."""
        self._thinking.progress(progress)

    def watch(self) -> float:
        """Answer for a search that is overdue. Return when to look again, on the clock of arrivals."""
        return self._thinking.watch()

    def answer_at_once(self) -> None:
        """Input has ended while answers are still due to it: give them almost without thinking."""
        self._thinking.hurry_soon()

    def abandon(self) -> None:
        """The manager is gone: drop everything that is being thought about."""
        self._cancel()

    # --- commands -------------------------------------------------------------------------------------------

    def _carry_out(self, command: c.Command, arrival_s: float) -> None:
        if isinstance(command, c.Stop | c.ShowForbid | c.Play):
            self._thinking.settle()
        match command:
            case c.Info():
                self._info(command, arrival_s)
            case c.Turn():
                self._turn(command, arrival_s)
            case c.Begin():
                if self._started("BEGIN"):
                    self._think(arrival_s)
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
            case c.NBest() | c.Balance() | c.Swap2Board() | c.YixinSwap2() | c.Soosorv():
                self._question(command, arrival_s)
            case c.Stop():
                self._thinking.hurry()
            case c.About():
                self._send(replies.about())
            case c.ShowForbid():
                self._show_forbidden()
            case c.ShowInfo():
                self._table.meet_yixin()
                for line in replies.capabilities():
                    self._send(line)
            case c.HashClear():
                self._table.forget_tree = True
            case c.Block():
                self._table.blocked.change(command, self._table.names)
            case c.BlockReset():
                self._table.blocked.reset(command)
            case c.Ponder():
                if self._started("PONDER"):
                    self._thinking.ponder(SearchLimits(turn_ms=command.ms))
            case c.ForbidBoard():
                self._forbid_board(command)
            case c.ProtocolVersion():
                if not self._table.yixin:
                    self._send(replies.PROTOCOL_VERSION)
            case c.Ignored():
                remark = message(command.remark)
                if remark:
                    self._send(remark)
            case c.Invalid():
                if command.word in ("START", "RECTSTART"):
                    self._cancel()
                self._send(error(command.reason))
            case c.Unknown():
                if not self._table.yixin:  # Yixin-Board would take the answer for a move (protocol)
                    self._send(unknown(command.text))

    def _waits(self, command: c.Command) -> bool:
        if isinstance(command, c.Turn | c.Begin | c.Play | c.NBest | c.Ponder | c.ProtocolVersion):
            return True
        if isinstance(command, c.Balance):
            return command.board is None
        if isinstance(command, c.Invalid):
            return command.word in _WAITS
        return isinstance(command, c.Info) and bool(self._waiting)

    def _started(self, word: str) -> bool:
        if self._table.position is None:
            self._send(error(f"{word} before START"))
        return self._table.position is not None

    def _info(self, info: c.Info, arrival_s: float) -> None:
        settings = self._table.settings
        if not settings.apply(info.key, info.value, arrival_s) or self._thinking.job is None:
            return
        if info.key == "timeout_turn" and settings.turn_ms is not None and settings.turn_ms <= 0:
            self._thinking.hurry()
        else:
            self._thinking.relimit()

    def _start(self, start: c.Start) -> None:
        self._waiting.clear()
        if not self._thinking.stands(start.width, start.height):
            self._cancel()
        if not (MIN_SIDE <= start.width <= MAX_SIDE and MIN_SIDE <= start.height <= MAX_SIDE):
            self._send(replies.bad_size(start.width, start.height))
            return
        self._table.start(start.width, start.height)
        self._send(replies.OK)

    def _restart(self) -> None:
        if not self._started("RESTART"):
            return
        self._cancel()
        self._thinking.settle()
        self._table.restart()
        self._send(replies.OK)

    def _free_point(self, a: int, b: int) -> int | None:
        """Return the point that a,b names; say what is wrong and return None if it is not free."""
        assert self._table.position is not None
        point = self._table.names.point(a, b)
        if point is None:
            self._send(error(f"{a},{b} is off the board"))
        elif not self._table.position.is_empty(point):
            self._send(error(f"{a},{b} is taken"))
        else:
            return point
        return None

    def _turn(self, turn: c.Turn, arrival_s: float) -> None:
        if not self._started("TURN"):
            return
        point = self._free_point(turn.a, turn.b)
        if point is not None:
            self._table.place(point)
            self._think(arrival_s)

    def _play(self, play: c.Play) -> None:
        if not self._started("PLAY"):
            return
        point = self._free_point(play.a, play.b)
        if point is not None:
            self._thinking.drop_pondering()
            self._table.place(point)
            self._send(replies.moves([(play.a, play.b)]))

    def _take_back(self, take_back: c.TakeBack) -> None:
        if not self._started("TAKEBACK"):
            return
        assert self._table.position is not None
        point = self._table.names.point(take_back.a, take_back.b)
        if point is None or self._table.position.is_empty(point):
            self._send(error(f"no stone at {take_back.a},{take_back.b}"))
            return
        self._cancel()
        self._thinking.settle()
        self._table.position.take_back(point)
        self._send(replies.OK)

    def _set_board(self, board: c.Board, arrival_s: float) -> None:
        if self._table.position is None:
            self._refuse(board, "BOARD before START")
            return
        names = self._table.names
        self._waiting.clear()
        if not (board.silent and self._thinking.stands(names.width, names.height)):
            self._cancel()
        try:
            self._table.position = from_board(names, board.stones, board.fault)
        except BoardFault as fault:
            self._refuse(board, str(fault))
            return
        if not board.silent:
            self._think(arrival_s)

    def _refuse(self, board: c.Board, reason: str) -> None:
        if board.silent:
            self._log(f"YXBOARD refused: {reason}")
        else:
            self._send(error(reason))

    def _show_forbidden(self) -> None:
        if not self._started("YXSHOWFORBID"):
            return
        position = self._table.position
        assert position is not None
        points = position.board(self._table.rule()).forbidden_points()
        self._send(replies.forbid(self._table.names.pair(point) for point in points))

    def _forbid_board(self, command: c.ForbidBoard) -> None:
        if not self._started("SHOWFORBID"):
            return
        try:
            position = from_board(self._table.names, command.board.stones, command.board.fault)
        except BoardFault as fault:
            self._send(error(str(fault)))
            return
        points = position.board(self._table.rule()).forbidden_points()
        self._send(replies.forbid_list(self._table.names.pair(point) for point in points))

    # --- thinking -------------------------------------------------------------------------------------------

    def _think(self, arrival_s: float) -> None:
        """Think about the move to make."""
        assert self._table.position is not None
        ask = questions.move(self._table.position)
        self._thinking.begin(ask, self._table.settings.charged_from_s(arrival_s))

    def _question(self, command: c.Question, arrival_s: float) -> None:
        if not self._started(questions.word_of(command)):
            return
        assert self._table.position is not None
        if not self._waits(command):
            self._cancel()
        try:
            ask = questions.ask(command, self._table.position, self._table.names, arrival_s)
        except questions.Refused as refusal:
            self._thinking.settle()
            self._send(error(str(refusal)))
            return
        self._thinking.begin(ask, self._table.settings.charged_from_s(arrival_s))

    def _cancel(self) -> None:
        """Forget the question that is being thought about and those that wait behind it."""
        self._waiting.clear()
        self._thinking.cancel()

    def _go_on(self, moved: bool) -> None:
        """An answer is out: carry out what waited for it, or think on the opponent's time."""
        while self._waiting and self._thinking.job is None:
            command, arrival_s = self._waiting.popleft()
            self.handle(command, max(arrival_s, self._thinker.now_s()))
        if moved and self._thinking.job is None and self._table.settings.pondering:
            self._thinking.ponder(SearchLimits())
