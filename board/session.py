"""Session of one page: its requests, its engine, its answers. The page keeps the game; the server has no
state."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable

from board import files, messages
from board.answers import LAST, answer, refusal
from board.brains import GRACE_S
from board.engine_pool import START_S, EnginePool, EngineProcess
from board.messages import (
    Analyse,
    AnswerSwap2,
    Balance,
    EngineRequest,
    Look,
    MessageError,
    Open,
    Position,
    Request,
    Review,
    Save,
    SetUp,
    Stop,
    Think,
)
from board.position import facts
from engine.errors import PositionError

MAX_WAITING = 400
"""Answers that wait for a page which does not read them; then it is cut off (derived: a review of a full
board has 484, sent over minutes)."""
LIVE = '{"type":"analysis"'
"""Beginning of the answers of which only the newest counts."""
LOST = "The engine stopped unexpectedly. Your game is kept; the next move starts the engine again."


HUNG = "The engine did not answer any more and was ended. Your game is kept; the next move starts it again."
SILENCE_S = 4.0
"""Silence after which an engine counts as stopped, seconds (derived: it sends a heartbeat every second)."""
LATE_S = 4.0
"""An answer that comes so much later than its limit will not come any more (derived: said within 5 s)."""
WATCH_S = 0.5


class TooSlow(Exception):
    """The page reads its answers too slowly."""


class Session:
    """Answers the requests of one page."""

    def __init__(self, pool: EnginePool) -> None:
        self._pool = pool
        self._engine: EngineProcess | None = None
        self._current: EngineRequest | None = None
        self._waiting: deque[str] = deque()
        self._newest: str | None = None
        self._ready = asyncio.Event()
        self._overrun = False
        self._hidden_s: float | None = None
        self._loaded = False  # the engine has said that it is ready
        self._due_s: float | None = None  # when an answer is overdue, on the loop's clock
        self._watch: asyncio.TimerHandle | None = None

    # --- what the pool asks ---------------------------------------------------------------------------------

    @property
    def idle_since_s(self) -> float | None:
        """Since when the engine is not needed; None while it is."""
        return None if self._current is not None else self._hidden_s

    def evicted(self) -> None:
        """Drop the engine, which is gone; the next request gets another."""
        self._engine = None

    # --- requests -------------------------------------------------------------------------------------------

    async def receive(self, text: str | bytes) -> None:
        """Answer one message of the page; never raises for what the page sent."""
        try:
            request = messages.parse_request(text)
        except MessageError as error:
            self._say(refusal(error, error.id))
            return
        try:
            await self._answer(request)
        except PositionError as error:
            self._say(refusal(error, request.id))

    async def _answer(self, request: Request) -> None:
        match request:
            case Position():
                self._say(answer("position", request.id, **facts(request.game, swap2=request.swap2)))
            case Look():
                self._look(request.visible)
            case Open():
                opened = await asyncio.to_thread(files.opened, request)
                self._say(answer("opened", request.id, **opened))
            case SetUp():
                self._say(answer("opened", request.id, **files.set_up(request)))
            case Save():
                text = await asyncio.to_thread(files.saved, request)
                self._say(answer("saved", request.id, text=text))
            case Stop():
                self._stop()
            case Think() | AnswerSwap2() | Analyse() | Balance() | Review():
                self._ask(request)

    def _look(self, visible: bool) -> None:
        self._hidden_s = None if visible else asyncio.get_running_loop().time()
        if not visible and isinstance(self._current, Analyse):
            self._stop()
        elif visible:
            self.prepare()

    def _stop(self) -> None:
        if self._engine is not None and self._current is not None:
            self._engine.send(messages.to_line(Stop(0)))
        self._current = None
        self._newest = None

    def _ask(self, request: EngineRequest) -> None:
        self._newest = None
        self._current = None
        if self._engine is not None and self._silence_s() > self._longest_silence_s():
            self._drop()  # it stopped between requests
        try:
            self._hire()
        except OSError as error:
            self._say(_cannot_start(error, request.id))
            return
        if self._engine is None:
            n = self._pool.max_engines
            text = (
                f"All {n} engines are at work in other windows. Close one of these pages, or "
                "start the program with more: --engines N."
            )
            self._say(answer("busy", request.id, text=text, code="engines_taken", values={"n": n}))
            return
        self._current = request
        self._engine.send(messages.to_line(request))
        self._await()
        if self._watch is None:
            self._watch_soon()

    def prepare(self) -> None:
        """Start an engine, if one is free, so that no request waits for its start."""
        try:
            self._hire()
        except OSError as error:
            self._say(_cannot_start(error, 0))

    def _hire(self) -> None:
        if self._engine is None:
            self._loaded = False
            self._engine = self._pool.acquire(self, self._heard, self._lost)

    def _drop(self) -> None:
        self._pool.release(self)
        self._engine = self._current = None

    # --- an engine that hangs -------------------------------------------------------------------------------

    def _silence_s(self) -> float:
        assert self._engine is not None
        return asyncio.get_running_loop().time() - self._engine.heard_s

    def _longest_silence_s(self) -> float:
        """Return how long the engine may be silent, seconds; it sends no heartbeat while it loads."""
        assert self._engine is not None
        return SILENCE_S if self._loaded or self._engine.is_stopped else START_S

    def _await(self) -> None:
        """Set when the next answer is overdue; never where the request has no limit, or before the start."""
        limit_s = None if self._current is None else _limit_s(self._current)
        now_s = asyncio.get_running_loop().time()
        self._due_s = now_s + limit_s + LATE_S if self._loaded and limit_s is not None else None

    def _watch_soon(self) -> None:
        loop = asyncio.get_running_loop()
        self._watch = loop.call_later(WATCH_S, self._look_at_engine, loop.time() + WATCH_S)

    def _look_at_engine(self, expected_s: float) -> None:
        self._watch = None
        if self._engine is None or self._current is None:
            return
        now_s = asyncio.get_running_loop().time()
        late = self._due_s is not None and now_s > self._due_s
        hung = late or self._silence_s() > self._longest_silence_s()
        if hung and now_s - expected_s < WATCH_S:  # else this process was stopped itself
            id = self._current.id
            self._drop()
            self._say(answer("lost", id, text=HUNG, code="engine_hung"))
        else:
            self._watch_soon()

    # --- answers of the engine ------------------------------------------------------------------------------

    def _heard(self, line: str) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        kind, id = message.get("type"), message.get("id")
        if kind == "alive":
            return
        if kind == "broken":
            self._drop()
        elif kind == "ready":
            self._loaded = True
            self._await()
        elif kind == "trouble":
            pass
        elif self._current is None or id != self._current.id:
            return
        elif kind in LAST:
            self._current = None
        elif kind == "judged":
            self._await()
        if kind != "idle":
            self._say(line)

    def _lost(self) -> None:
        id = 0 if self._current is None else self._current.id
        self._drop()
        self._say(answer("lost", id, text=LOST, code="engine_lost"))

    # --- to the page ----------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        if text.startswith(LIVE):
            self._newest = text
        else:
            if self._newest is not None:  # keeps its place in the order
                self._waiting.append(self._newest)
                self._newest = None
            self._waiting.append(text)
        self._overrun = self._overrun or len(self._waiting) > MAX_WAITING
        self._ready.set()

    async def send_all(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Send answers as they come, until cancelled.

        Raises:
            TooSlow: the page does not read them.
        """
        while True:
            await self._ready.wait()
            self._ready.clear()
            while self._waiting or self._newest is not None:
                if self._overrun:
                    raise TooSlow
                if self._waiting:
                    text = self._waiting.popleft()
                else:
                    text, self._newest = self._newest or "", None
                await send(text)
                await asyncio.sleep(0)  # so that a lost connection is known before more is written to it

    def close(self) -> None:
        """End the engine of the page."""
        self._drop()


def _limit_s(request: EngineRequest) -> float | None:
    """Return how long the engine may take for its next answer, seconds; None: no limit."""
    match request:
        case Think():
            ms = request.turn_ms if request.left_ms is None else min(request.turn_ms, request.left_ms)
            if request.brain is not None:
                ms += round(1000 * GRACE_S)
        case AnswerSwap2() | Balance():
            ms = request.turn_ms
        case Analyse():
            if request.limit_ms is None:
                return None
            ms = request.limit_ms
        case Review():
            ms = 2 * request.turn_ms  # the first judgement needs two positions
        case _:
            return None
    return ms / 1000


def _cannot_start(error: OSError, id: int) -> str:
    text = f"The engine cannot be started: {error.strerror}."
    return answer("lost", id, text=text, code="engine_not_started")
