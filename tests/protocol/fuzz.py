"""Random and mutated lines for a brain, with a model of which of them deserve an answer.

    python -m tests.protocol.fuzz --lines 200000 --seed 1

Lines are written in batches without reading. The model knows what each line may be answered with and in which
order: commands that think are answered one after the other; what needs no thought (ABOUT, UNKNOWN, errors of
TAKEBACK, ...) is answered at once, also while an earlier question is being thought about; START, RESTART,
TAKEBACK and the board commands drop the questions before them. Everything that fits no question is an error,
and so is a question without an answer, a dead brain and one that hangs.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arena.errors import BrainGoneError
from arena.lines import Line
from arena.managers.base import MAX_REMARK, REMARK
from tests.protocol.fuzz_lines import Lines
from tests.protocol.fuzz_model import Matcher, Model
from tests.protocol.process import Brain
from tests.protocol.talk import brain_command

HANG_S = 20.0
"""Silence after which a brain that owes an answer is taken for hung."""
BATCH, BATCHES = 400, 25
"""Lines of a batch, and batches of a process (derived: many games with one brain)."""
MOST_FAILURES = 100
"""After which the command gives up: a brain that does not start would be tried for ever."""
CLASSES = {
    "OK": re.compile(rb"OK"),
    "ERROR": re.compile(rb"ERROR [\x20-\x7e]+"),
    "UNKNOWN": re.compile(rb"UNKNOWN [\x20-\x7e]+"),
    "ABOUT": re.compile(rb'name="[\x20-\x7e]+"'),
    "FORBID": re.compile(rb"FORBID (\d{4})*\.|FORBID( \d+,\d+)*"),
    "MOVE": re.compile(rb"\d+,\d+"),
    "SWAP2": re.compile(rb"SWAP|\d+,\d+( \d+,\d+){1,2}"),
}


class FuzzFailure(AssertionError):
    """The brain did what the model does not allow; the text says what and after which lines."""


@dataclass(slots=True)
class Tally:
    lines: int = 0
    questions: int = 0
    answers: int = 0
    batches: int = 0
    failures: int = 0


def kind_of(raw: bytes) -> str | None:
    """Return the class of an answer, "" for a well-formed remark, None for anything else."""
    if raw.upper().startswith((b"MESSAGE", b"DEBUG")):
        return "" if REMARK.fullmatch(raw) and len(raw) < MAX_REMARK else None
    return next((name for name, pattern in CLASSES.items() if pattern.fullmatch(raw)), None)


def _barrier(model: Model, token: bytes) -> list[bytes]:
    """Return lines that end all thinking and blocks, the last one with an answer that repeats the token."""
    if model.gui:
        return [b"RESTART", b"TAKEBACK -1," + token]
    return [*([b"RESTART"] if model.started else []), b"BARRIER" + token]


def run_batch(
    brain: Brain, model: Model, lines: Sequence[bytes], ends: Sequence[bytes], tally: Tally
) -> None:
    """Write a batch, match the answers, then make sure by a last question that nothing more is to come.

    Raises:
        FuzzFailure: see there.
    """
    heard: list[bytes] = []

    def fail(what: str) -> FuzzFailure:
        near = "\n".join(map(str, matcher.waiting_for()))
        tail = b"\n".join(lines)
        return FuzzFailure(f"{what}\nanswers: {heard[-30:]}\nopen questions:\n{near}\nlines: {tail!r}")

    questions = [q for q in map(model.feed, lines) if q is not None]
    if model.line_due:
        questions += [q for q in [model.feed(b"a path")] if q is not None]
        lines, ends = [*lines, b"a path"], [*ends, b"\n"]
    if model.block:
        questions += [q for q in [model.feed(b"DONE")] if q is not None]
        lines, ends = [*lines, b"DONE"], [*ends, b"\n"]
    token = b"%d" % (1_000_000 + tally.batches)
    last = _barrier(model, token)
    final = [q for q in map(model.feed, last) if q is not None]
    matcher = Matcher([*questions, *final])
    block = b"".join(line + end for line, end in zip(lines, ends, strict=True))
    tally.lines += len(lines) + len(last)

    def take(line: Line | None) -> bytes:
        if line is None:
            raise fail("no answer in time: the brain hangs or has forgotten a question")
        kind = kind_of(line.raw)
        if kind != "":
            heard.append(line.raw)
            if kind is None or not matcher.answer(kind):
                raise fail(f"{line.raw!r} answers nothing that was asked")
        return line.raw

    try:
        brain.send(block)
        deadline_s = time.monotonic() + HANG_S
        while not matcher.complete(len(questions)):
            take(brain.read_line(deadline_s - time.monotonic()))
        # Where an order has several readings this may be early; what is still to come precedes the token.
        brain.send(b"\n".join(last) + b"\n")
        while token not in take(brain.read_line(deadline_s - time.monotonic())):
            pass
    except BrainGoneError as error:
        raise fail(f"the brain is gone: {error}") from error
    if not matcher.complete(len(questions) + len(final)):
        raise fail("questions are left without an answer")
    tally.answers += len(heard)
    tally.batches += 1
    tally.questions += len(questions) + len(final)


def _feed_process(rng: random.Random, number: int, line_count: int, tally: Tally) -> None:
    supply = Lines(rng)
    model = Model(started=number % 5 != 4)
    with Brain([*brain_command("uniform"), "--set", "seed=1"]) as brain:
        brain.send(b"INFO timeout_turn 0\nINFO max_node 1\n")
        if model.started:
            brain.send(b"START 15\n")
            line = brain.read_line(HANG_S)
            if line is None or line.raw != b"OK":
                raise FuzzFailure(f"START is answered by {line}")
        if model.started and number % 4 == 3:
            brain.send(b"YXSHOWINFO\n")
            model.feed(b"YXSHOWINFO")
        for _ in range(BATCHES):
            lines = supply.batch(BATCH)
            if not model.started:
                lines = [x for x in lines if b"START" not in x.upper()]
            ends = rng.choices([b"\n", b"\r\n", b"\r", b" \n", b"\n\n"], [60, 30, 3, 5, 2], k=len(lines))
            run_batch(brain, model, lines, ends, tally)
            if tally.lines >= line_count:
                break
        brain.send(b"END\n")
        if brain.wait_exit_s(5.0) is None or brain.process.returncode != 0:
            raise FuzzFailure(f"no clean exit: {brain.why_gone()}")


def fuzz(
    line_count: int, seed: int, first: int = 0, on_failure: Callable[[FuzzFailure], None] | None = None
) -> Tally:
    """Feed at least `line_count` lines to a row of brain processes, from process number `first` on.

    Every fifth process is never started, and every fourth is spoken to as by Yixin-Board.

    Raises:
        FuzzFailure: naming the seed and the process; with `on_failure` it is called instead.
    """
    tally = Tally()
    for number in itertools.count(first):
        if tally.lines >= line_count or tally.failures == MOST_FAILURES:
            break
        try:
            _feed_process(random.Random(seed * 1_000_003 + number), number, line_count, tally)
        except (FuzzFailure, BrainGoneError) as error:
            failure = FuzzFailure(f"seed {seed}, process {number}: {error}")
            if on_failure is None:
                raise failure from error
            tally.failures += 1
            on_failure(failure)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.protocol.fuzz", description=(__doc__ or "").split("\n")[0],
        epilog="Goes on after a failure, which names seed and process; ends with status 1 if there was one.",
    )  # fmt: skip
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="process to begin with (0)")
    options = parser.parse_args()
    start_s = time.monotonic()
    tally = fuzz(options.lines, options.seed, options.first, lambda failure: print(failure, flush=True))
    print(f"{tally} in {time.monotonic() - start_s:.1f} s")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
