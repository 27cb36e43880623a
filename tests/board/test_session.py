"""What a page hears of an engine that stops, hangs or is not there; with engines that only seem to be."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from board import session
from board.answers import ANSWERS, answer
from board.messages import parse_request
from board.session import Session

GAME = {"width": 15, "height": 15, "rule": 0, "moves": [112, 113]}
THINK = {"type": "think", "id": 7, "game": GAME, "level": 5, "turn_ms": 40}
ANALYSE = {"type": "analyse", "id": 7, "game": GAME}
REVIEW = {"type": "review", "id": 7, "game": GAME, "turn_ms": 40}


class Engine:
    """Says what a test wants it to say."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self.on_line = on_line
        self.heard_s = asyncio.get_running_loop().time()
        self.sent: list[bytes] = []
        self.is_stopped = False

    def send(self, line: bytes) -> None:
        self.sent.append(line)

    def say(self, text: str) -> None:
        self.heard_s = asyncio.get_running_loop().time()
        self.on_line(text)


class EnginePool:
    """Engines for one page; an error in their place where there is one."""

    max_engines = 3

    def __init__(self) -> None:
        self.engines: list[Engine | None] = []
        self.failing: OSError | None = None
        self.free = True

    def acquire(self, _: object, on_line: Callable[[str], None], __: object) -> Engine | None:
        if self.failing is not None:
            raise self.failing
        self.engines.append(Engine(on_line) if self.free else None)
        return self.engines[-1]

    def release(self, _: object) -> None:
        self.engines.append(None)


@pytest.fixture(autouse=True)
def short_limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in (("SILENCE_S", 0.2), ("LATE_S", 0.1), ("WATCH_S", 0.02), ("START_S", 0.5)):
        monkeypatch.setattr(session, name, value)
    return


async def hear(page: Session, limit_s: float = 20.0) -> dict[str, Any]:
    """Return the next answer; an empty one after the limit."""
    heard: asyncio.Queue[str] = asyncio.Queue()
    sending = asyncio.create_task(page.send_all(heard.put))
    try:
        return dict(json.loads(await asyncio.wait_for(heard.get(), limit_s)))
    except TimeoutError:
        return {}
    finally:
        sending.cancel()


async def begun(request: dict[str, Any], *, ready: bool = True) -> tuple[Session, EnginePool, Engine]:
    """Return a page whose engine works on a request."""
    pool = EnginePool()
    page = Session(pool)  # type: ignore[arg-type]
    page.prepare()
    engine = pool.engines[0]
    assert engine is not None
    if ready:
        engine.say(answer("ready", 0, net="n"))
        assert (await hear(page))["type"] == "ready"
    await page.receive(json.dumps(request))
    assert parse_request(engine.sent[-1]).id == 7
    return page, pool, engine


def test_a_page_that_is_gone_gets_no_more_of_what_waits() -> None:
    async def run() -> None:
        page, sent = Session(EnginePool()), list[str]()  # type: ignore[arg-type]

        async def send(text: str) -> None:
            sent.append(text)
            asyncio.get_running_loop().call_soon(sending.cancel)  # as the loop tells of a lost connection

        for _ in range(9):
            await page.receive("no request")
        sending = asyncio.create_task(page.send_all(send))
        await asyncio.gather(sending, return_exceptions=True)
        assert len(sent) == 1

    asyncio.run(run())


async def living(engine: Engine, until: asyncio.Task[Any]) -> None:
    """Let an engine give signs of life until something is done."""
    while not until.done():
        engine.say(answer("alive", 0))
        await asyncio.sleep(0.03)


@pytest.mark.parametrize("request_", [THINK, ANALYSE, REVIEW])
@pytest.mark.parametrize("ready", [True, False])
def test_an_engine_that_gives_no_sign_of_life_is_said_and_ended(
    request_: dict[str, Any], ready: bool
) -> None:
    async def run() -> None:
        page, pool, _ = await begun(request_, ready=ready)
        heard = await hear(page)
        assert (heard["type"], heard["id"], heard["code"]) == ("lost", 7, "engine_hung")
        assert pool.engines[-1] is None, "it was released"
        await page.receive(json.dumps(request_))
        assert pool.engines[-1] is not None, "the next request has a new one"
        page.close()

    asyncio.run(run())


def test_an_engine_that_is_stopped_while_it_loads_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "START_S", 1000.0)

    async def run() -> None:
        page, _, engine = await begun(THINK, ready=False)
        assert await hear(page, 0.3) == {}, "it only loads"
        engine.is_stopped = True
        assert (await hear(page))["code"] == "engine_hung"

    asyncio.run(run())


@pytest.mark.parametrize("request_", [THINK, {**THINK, "turn_ms": 9000, "left_ms": 40}, REVIEW])
def test_an_engine_that_lives_but_is_late_is_said_and_ended(request_: dict[str, Any]) -> None:
    async def run() -> None:
        page, _, engine = await begun(request_)
        lost = asyncio.create_task(hear(page))
        await living(engine, lost)
        heard = lost.result()
        assert (heard["type"], heard["code"]) == ("lost", "engine_hung")

    asyncio.run(run())


def test_an_analysis_without_a_limit_goes_on_while_its_engine_lives() -> None:
    async def run() -> None:
        page, _, engine = await begun(ANALYSE)
        silent = asyncio.create_task(hear(page, 0.6))
        await living(engine, silent)
        assert silent.result() == {}
        page.close()

    asyncio.run(run())


def test_a_long_review_is_not_late_while_it_judges() -> None:
    async def run() -> None:
        page, _, engine = await begun(REVIEW)
        for ply in range(8):
            fields = {"point": 1, "before": 0.5, "after": 0.5, "fall": 0, "mark": "", "best": 1}
            engine.say(answer("judged", 7, ply=ply, **fields))
            assert (await hear(page))["type"] == "judged"
            await asyncio.sleep(0.06)
        page.close()

    asyncio.run(run())


def test_an_engine_that_stopped_while_nobody_asked_is_replaced() -> None:
    async def run() -> None:
        page, pool, engine = await begun(THINK)
        engine.say(answer("move", 7, point=1, ms=1))
        engine.heard_s -= 1
        await page.receive(json.dumps(THINK))
        assert [e is None for e in pool.engines] == [False, True, False]
        page.close()

    asyncio.run(run())


def test_taken_engines_and_one_that_cannot_be_started_are_said_once() -> None:
    async def run() -> None:
        pool = EnginePool()
        page = Session(pool)  # type: ignore[arg-type]
        pool.free = False
        await page.receive(json.dumps(THINK))
        heard = await hear(page)
        assert (heard["type"], heard["code"], heard["values"]) == ("busy", "engines_taken", {"n": 3})
        pool.failing = OSError(11, "no more processes")
        await page.receive(json.dumps(THINK))
        heard = await hear(page)
        assert (heard["type"], heard["id"], heard["code"]) == ("lost", 7, "engine_not_started")
        assert await hear(page, 0.05) == {}

    asyncio.run(run())


def test_an_answer_of_another_form_is_never_sent() -> None:
    for kind in ANSWERS:
        with pytest.raises(ValueError, match="no answer of this form"):
            answer(kind, 1, nonsense=1)
    with pytest.raises(ValueError, match="no answer of this form"):
        answer("moved", 1)


def test_every_answer_has_its_form() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in Path(session.__file__).parent.glob("*.py"))
    assert set(re.findall(r'\banswer\(\s*"(\w+)"', code)) == set(ANSWERS)
