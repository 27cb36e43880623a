"""Check net, kernel, clock and memory on this machine, and report in plain words."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.config import EngineConfig
from engine.errors import EngineError
from engine.memory import UNLIMITED_BYTES, private_bytes

if TYPE_CHECKING:
    from engine.rules._board import Board

TURN_MS = 300
"""Length of the timed moves (derived: short enough to wait for, long against the reserve for overhead)."""
TURNS = 3
"""Timed moves; the middle one counts, so that one pause of a busy machine does not."""
STEP_S = 0.02
"""Coarsest clock that moves can be timed with (derived: Windows ticks every 15.6 ms where it must)."""
SPEED_S = 0.5
"""How long each net is measured (derived: hundreds of evaluations of the largest net that plays)."""
FEW_EVALUATIONS = 100.0
"""Fewer a second make weak moves in the shortest leagues (derived: a turn of 5 s then sees 500 positions)."""
SIMULATIONS = 200
"""Of the search that is done twice to see that it repeats itself (derived: milliseconds)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check."""

    name: str
    good: bool
    text: str


class _Fault(Exception):
    """A check that failed; the text says how."""


def run(config: EngineConfig, say: Callable[[str], None]) -> int:
    """Check everything, one line each, and print a verdict; return the exit status: 0 all is well, else 1.

    Args:
        config: names the net and the memory limit.
        say: takes the lines.
    """
    found = []
    for finding in findings(config):
        found.append(finding)
        say(f"{'ok ' if finding.good else 'BAD'}  {finding.name:<7} {finding.text}")
    bad = [finding.name for finding in found if not finding.good]
    if bad:
        say(f"Verdict: do not play with this copy on this machine; look at {', '.join(bad)} above.")
        return 1
    say("Verdict: everything works; this brain is fit to play here.")
    return 0


def findings(config: EngineConfig) -> Iterator[Finding]:
    """Yield what each check found; a check that breaks is a bad finding, never an exception."""
    checks: dict[str, Callable[[], str]] = {
        "kernel": kernel,
        "net": lambda: net(config),
        "speed": lambda: speed(config),
        "clock": clock,
        "move": lambda: timed_move(config),
        "memory": lambda: memory(config),
    }
    for name, check in checks.items():
        try:
            yield Finding(name, True, check())
        except Exception as failure:
            cause: BaseException = failure
            while cause.__cause__ is not None:  # what libraries wrap around it is long and knows less
                cause = cause.__cause__
            text = str(failure if isinstance(failure, EngineError) else cause)
            yield Finding(name, False, " ".join(text.split()) or repr(cause))


def kernel() -> str:
    """Check facts that rules, solver and search must know, and that a search repeats itself.

    Raises:
        _Fault: a fact is wrong.
    """
    from engine.commands.bench import signature_of

    facts = list(_facts())
    wrong = [text for text, holds in facts if not holds]
    if wrong:
        raise _Fault(f"wrong about: {'; '.join(wrong)}")
    board = _board("h8i9g6j7", 0)
    if signature_of(board, SIMULATIONS) != signature_of(board, SIMULATIONS):
        raise _Fault("the same search done twice gave two trees")
    return f"rules, solver and search know {len(facts)} of {len(facts)} facts and repeat themselves"


def _facts() -> Iterator[tuple[str, bool]]:
    """Yield statements and whether the kernel agrees; positions in the spirit of the league logic test."""
    from engine.rules._board import BLACK, WHITE
    from engine.rules.rule import ALL_RULES
    from engine.threats._solver import Solver
    from engine.threats.solution import Verdict

    four = "h8h9i8i9j8j9k8k9"
    for rule in ALL_RULES:
        yield f"a five under rule {rule}", _named(_board(four, rule).five_points(BLACK)) == {"g8", "l8"}
    six = "h8h9i8h10g8h11j13h12g14h14i15"
    yield "six is no five in standard", "h13" not in _named(_board(six, 1).five_points(WHITE))
    yield "six wins in freestyle", "h13" in _named(_board(six, 0).five_points(WHITE))
    yield (
        "a double three is forbidden in renju",
        "g9" in _named(_board("h8h9i7i9h10i6i11i12", 4).forbidden_points()),
    )
    yield (
        "a five between two stones is no win in caro",
        "k8" not in _named(_board("h8f8g8f9i8f7j8l8", 8).five_points(BLACK)),
    )
    three = _board("h8a1i8c15j8o1", 0)
    yield "an open three wins", Solver(12).solve(three, "vcf", BLACK, 10_000).verdict is Verdict.WIN
    yield "a lonely stone does not", Solver(12).solve(_board("h8a1", 0), "vcf").verdict is Verdict.NONE
    key = three.hash
    three.place(0 * 15 + 5)
    three.undo()
    yield "a stone that is taken back leaves nothing", three.hash == key


def net(config: EngineConfig) -> str:
    """Load the net and evaluate the canary positions.

    Raises:
        NetError: it cannot be loaded or gives impossible answers.
    """
    from engine.evaluator.check import CANARY_SIZES, check_evaluator
    from engine.evaluator.make import make_evaluator

    evaluator = make_evaluator(config, 1, decorate=False)
    check_evaluator(evaluator)
    return f"{evaluator.name} loads and judges boards of {len(CANARY_SIZES)} sizes sensibly"


def speed(config: EngineConfig) -> str:
    """Measure the net on 15x15, and against its fp32 twin if that is next to it.

    Raises:
        _Fault: it is too slow for any league.
    """
    from engine.commands.speed import evaluations, opening
    from engine.commands.usual import describe
    from engine.evaluator.base import STUB_COST
    from engine.evaluator.lines import LineEvaluator
    from engine.evaluator.make import make_evaluator, net_path
    from engine.evaluator.onnx import OnnxEvaluator

    evaluator = make_evaluator(config, 1, decorate=False)
    if evaluator.cost <= STUB_COST:
        return "plays without a net"
    board = opening((15, 15), 0)
    rate = evaluations(evaluator, board, SPEED_S)
    if rate < FEW_EVALUATIONS:
        raise _Fault(f"{rate:,.0f} positions a second on one core are too few for short games")
    text = f"{rate:,.0f} positions a second on one core"
    if isinstance(evaluator, LineEvaluator):
        return f"{text}; {describe(evaluator.line_net, rate)}"
    path = net_path(config.net)
    twin = path.with_name(path.name.replace(".int8.", ".fp32."))
    if twin != path and twin.is_file():
        gain = rate / evaluations(OnnxEvaluator(twin), board, SPEED_S)
        text += f"; the 8-bit net is {gain:.1f} times as fast as its 32-bit twin"
    return f"{text}; {_eight_bit()}"


def _eight_bit() -> str:
    """Say whether the processor multiplies 8-bit numbers in one step, which makes int8 nets fast."""
    from importlib import import_module

    features: dict[str, bool] = import_module("numpy._core._multiarray_umath").__cpu_features__
    names = {name for name, there in features.items() if there}
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
            names |= {f.upper() for line in info if line.startswith("flags") for f in line.split()}
    except OSError:
        pass
    if names & {"AVX512VNNI", "AVX512_VNNI", "AVX_VNNI", "ASIMDDP"}:
        return "the processor is made for 8-bit nets (VNNI)"
    if "AVX2" in names:
        return "8-bit nets run well (AVX2; VNNI not seen)"
    return "8-bit nets run slowly (no AVX2)"


def clock() -> str:
    """Check that the clock never goes back, and how fine it is.

    Raises:
        _Fault: it is too coarse, goes back, or places the start of this process in the future.
    """
    from engine.timing.clock import process_age_s

    steps = []
    last = time.monotonic()
    until = time.perf_counter() + 0.1
    while time.perf_counter() < until:
        now = time.monotonic()
        if now < last:
            raise _Fault("the clock went back")
        if now > last:
            steps.append(now - last)
        last = now
    if not steps or min(steps) > STEP_S:
        raise _Fault("the clock is too coarse to time a move")
    age_s = process_age_s()
    if not 0.0 <= age_s < 86_400:
        raise _Fault(f"the system says that this process is {age_s:.1f} s old")
    known = f"the start of this process, {age_s:.1f} s ago, is known" if age_s else "the start is not known"
    return f"ticks in steps of {min(steps) * 1000:.4f} ms; {known}"


def timed_move(config: EngineConfig) -> str:
    """Search a few times with a short limit.

    Raises:
        _Fault: the middle one of the moves took longer.
    """
    from engine.engine import Engine
    from engine.rules.rule import Rule
    from engine.timing.budget import SearchLimits

    engine = Engine(config)
    engine.warm_up()
    times_ms = []
    simulations = 0
    for turn in range(TURNS):
        engine.new_game(15, 15, Rule.FREESTYLE)
        for point in (112, 113, 97 + turn):
            engine.play(point)
        engine.clear_tree()
        arrival_s = engine.clock.now_s()
        simulations += engine.think(SearchLimits(turn_ms=TURN_MS), arrival_s).simulations
        times_ms.append((engine.clock.now_s() - arrival_s) * 1000)
    engine.close()
    taken = ", ".join(f"{t:.0f}" for t in times_ms)
    if statistics.median(times_ms) > TURN_MS:
        raise _Fault(f"moves of at most {TURN_MS} ms took {taken} ms; is the machine very busy?")
    return f"moves of at most {TURN_MS} ms took {taken} ms and searched {simulations:,} positions"


def memory(config: EngineConfig) -> str:
    """Check that the system gives as much memory as the limit allows; called last, with the net loaded.

    Raises:
        _Fault: it does not, or the process alone takes more than the limit.
    """
    limit = config.memory_bytes or UNLIMITED_BYTES
    held = private_bytes()
    if held is not None and held >= limit:
        raise _Fault(f"the process takes {held / 2**20:.0f} MiB before it thinks, of {limit / 2**20:.0f} MiB")
    try:
        bytearray(limit - (held or 0))
    except MemoryError:
        raise _Fault(f"the system refuses the {limit / 2**20:.0f} MiB that the brain may use") from None
    used = "unknown use so far" if held is None else f"{held / 2**20:.0f} MiB in use"
    return f"{used}, up to {limit / 2**20:.0f} MiB allowed and there"


def _board(moves: str, rule: int) -> Board:
    from engine.rules._board import Board
    from engine.rules.geometry import parse_moves

    board = Board(15, 15, rule)
    for point in parse_moves(moves, 15, 15):
        board.place(point)
    return board


def _named(points: list[int]) -> set[str]:
    from engine.rules.geometry import format_move

    return {format_move(point, 15) for point in points}
