"""The Gomocup brain: `python -m protocol`, and the entry of the packed program.

The order of what happens here matters. First only the writer may reach standard output, and nothing the
manager's error channel; then input is read and stamped; only then are the libraries loaded that take time.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.cores import ONE_THREAD
from engine.pipes import run_piped
from protocol import __version__
from protocol.format import error, greeting, help_lines
from protocol.io import Ended, Line, Reader, Writer

if TYPE_CHECKING:
    from engine.config import EngineConfig
    from protocol.format import RowsFrom

PROGRAM = "pbrain-tengen"
PLAY = "--play"
BOARD, BOARD_ENGINE = "--board", "--board-engine"
BAD_START = 2
"""Exit status when the brain cannot start."""
PATIENCE_S = 3.0
"""How long a brain that cannot start waits for the question that it answers with ERROR (protocol:
c-gomoku-cli gives 3 s from START to OK; a manager whose first write finds a closed pipe may crash)."""
SETTINGS_FILE = "tengen.toml"
"""Read when it is next to the packed program, since managers pass no arguments."""


Dialect = Literal["gomocup", "yixin"]


class StartError(Exception):
    """The brain cannot start; the text says why."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    net: str | None = None
    config: str | None = None
    log: str | None = None
    settings: tuple[str, ...] = ()
    dialect: Dialect | None = None
    rows_from: RowsFrom | None = None
    self_check: bool = False


def parse_arguments(arguments: Sequence[str]) -> Options:
    """Return the options of the command line.

    Args:
        arguments: without the name of the program.

    Raises:
        StartError: an argument is unknown or invalid; the message names it.
        SystemExit: --help or --version was printed.
    """
    if not arguments:
        return Options()
    import argparse

    class Arguments(argparse.ArgumentParser):
        def error(self, message: str) -> None:  # type: ignore[override]
            raise StartError(f"{message} (see --help)")

    parser = Arguments(
        prog=PROGRAM,
        description="A gomoku brain that speaks the Gomocup protocol on standard input and output.",
        epilog="Standard output carries protocol lines only. Everything else goes to the log file.",
    )
    parser.add_argument("--net", help="an .onnx file, the name of a shipped net, or uniform (no net)")
    parser.add_argument("--config", metavar="FILE", help="settings of the engine, TOML")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="settings",
        help="one setting of the engine; wins over --config; can be repeated",
    )
    parser.add_argument("--log", metavar="FILE", help="append the conversation and all failures to this file")
    parser.add_argument(
        "--dialect", choices=("auto", "gomocup", "yixin"), default="auto",
        help="yixin: rule 2 is renju, rectangles are row,column; auto (default): yixin after YXSHOWINFO",
    )
    parser.add_argument(
        "--rows-from", choices=("top", "bottom"), dest="rows_from",
        help="side of row 1 where messages name points as h8 (default: top; to Yixin-Board bottom)",
    )
    parser.add_argument(
        "--self-check", action="store_true",
        help="tell whether net, kernel, clock and memory work on this machine, then stop",
    )
    parser.add_argument(
        "--play", action="store_true",
        help="play a game at the terminal; `--play --help` lists what goes with it",
    )
    parser.add_argument(
        "--board", action="store_true",
        help="open the board in the browser; `--board --help` lists what goes with it",
    )
    parser.add_argument("--force-utf8", action="store_true", help=argparse.SUPPRESS)  # a fork of Yixin-Board
    parser.add_argument("--version", action="version", version=f"Tengen {__version__}")
    found = parser.parse_args(arguments)
    dialect = None if found.dialect == "auto" else found.dialect
    return Options(
        found.net, found.config, found.log, tuple(found.settings), dialect, found.rows_from, found.self_check
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the brain until its input ends, or what the arguments ask for; return the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == [BOARD_ENGINE]:
        return _run_interactive(lambda: _board_engine(arguments[1:]))
    for name, program in ((PLAY, _play), (BOARD, _board)):
        if name in arguments:
            rest = [argument for argument in arguments if argument != name]
            return _run_interactive(functools.partial(program, rest))
    try:
        options = parse_arguments(arguments)
    except StartError as refusal:
        return _brain(Options(), refusal)
    if options.self_check:
        return _run_interactive(lambda: _self_check(options))
    return _brain(options)


def _brain(options: Options, problem: StartError | None = None) -> int:
    """Talk to a manager until the input ends, or say why not; return the exit status."""
    try:
        log_fd = _open_log(options.log)
    except StartError as refusal:
        problem, log_fd = problem or refusal, os.open(os.devnull, os.O_WRONLY)
    terminal_fd = os.dup(2) if _is_open(2) else None
    input_fd, output_fd = _take_over_streams(log_fd)
    log = _logger(bool(options.log) and problem is None)
    writer = Writer(output_fd, log if options.log else None)
    events: queue.SimpleQueue[object] = queue.SimpleQueue()
    by_hand = os.isatty(input_fd) and os.isatty(output_fd)
    reader = Reader(input_fd, events, (lambda: _write_text(writer, help_lines)) if by_hand else None)
    if by_hand and problem is None:
        _write_text(writer, greeting)
    reader.start()
    try:
        if problem is not None:
            raise problem
        return _serve(options, reader, events, writer, log)
    except StartError as refusal:
        reader.loaded.set()
        log(f"cannot start: {refusal}")
        _report_failure(str(refusal), writer, events, terminal_fd, output_fd, person=os.isatty(input_fd))
        return BAD_START
    except KeyboardInterrupt:
        return 130


def _run_interactive(program: Callable[[], int]) -> int:
    """Run something that is no brain, on the terminal; return the exit status."""
    os.environ.update(ONE_THREAD)
    try:
        return run_piped(program)
    except (ImportError, FileNotFoundError) as failure:
        print(f"{PROGRAM}: {_failure_text(failure)}", file=sys.stderr)
        return BAD_START
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()


def _write_text(writer: Writer, text: Callable[[str], list[str]]) -> None:
    """Write what a person wants to know; the text is given the way to start this program."""
    frozen = getattr(sys, "frozen", False)
    for line in text(Path(sys.executable).name if frozen else "python -m protocol"):
        writer(line)


def _play(arguments: Sequence[str]) -> int:
    from arena.play import main as play

    return play(arguments)


def _board(arguments: Sequence[str]) -> int:
    from board.cli import main as board

    return board(arguments, __version__)


def _board_engine(arguments: Sequence[str]) -> int:
    """Run the engine process of a page; the server of the board starts it."""
    from board.worker import main as engine

    return engine(list(arguments))


def _self_check(options: Options) -> int:
    from engine.commands.selfcheck import run
    from engine.errors import EngineError

    try:
        print(f"Tengen {__version__}, Python {sys.version.split()[0]}, {sys.platform}")
        return run(_configuration(options), lambda line: print(line, flush=True))
    except EngineError as failure:
        print(f"{PROGRAM}: {failure}", file=sys.stderr)
        return BAD_START


def _configuration(options: Options) -> EngineConfig:
    from engine.config import load_config

    net = (f"net={options.net}",) if options.net is not None else ()
    return load_config(options.config or _settings_beside_program(), (*options.settings, *net))


def _failure_text(failure: Exception) -> str:
    """Return why the program cannot start; says what to do where a part of it is missing."""
    if not isinstance(failure, ImportError | OSError):
        return str(failure) or repr(failure)
    cause: BaseException = failure
    while cause.__cause__ is not None:  # numpy wraps a page of advice around it
        cause = cause.__cause__
    reason = " ".join(str(cause).split()) or repr(cause)
    way_out = "run `make brain`, or install the package again"
    if getattr(sys, "frozen", False):
        way_out = "unpack the whole zip again"
    return f"a part of the program is missing or damaged ({reason}); {way_out}"


def _serve(
    options: Options,
    reader: Reader,
    events: queue.SimpleQueue[object],
    writer: Writer,
    log: Callable[[str], None],
) -> int:
    import gc
    import traceback

    try:
        from engine.engine import Engine
        from protocol.conversation import Conversation
        from protocol.worker import EventLoop, SearchWorker

        engine = Engine(_configuration(options), log=log)
        engine.warm_up()
    except Exception as failure:
        log(traceback.format_exc())
        raise StartError(_failure_text(failure)) from failure
    reader.loaded.set()
    gc.collect()
    gc.freeze()  # what is loaded by now lives as long as the process
    worker = SearchWorker(engine, events.put, log)
    conversation = Conversation(worker, writer, log, options.dialect, options.rows_from)
    loop = EventLoop(
        events, conversation, worker, log,
        process_started_s=engine.clock.process_started_s(), ready_s=time.monotonic(),
    )
    loop.run()
    return 0


def _settings_beside_program() -> str | None:
    beside = Path(sys.executable).parent / SETTINGS_FILE
    return str(beside) if getattr(sys, "frozen", False) and beside.is_file() else None


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _open_log(path: str | None) -> int:
    try:
        return os.open(path or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise StartError(f"cannot write the log file {path}: {error.strerror}") from error


def _take_over_streams(log_fd: int) -> tuple[int, int]:
    """Point file descriptors 0, 1 and 2 away from the manager; return private ones of input and output.

    Libraries that are loaded look at descriptor 0. On Windows that look would last until the manager writes
    again: it waits for the lock that the reader's blocking read holds (github.com/numpy/numpy/issues/24290).
    """
    os.environ.update(ONE_THREAD)
    nowhere = os.open(os.devnull, os.O_RDWR)
    input_fd = os.dup(0 if _is_open(0) else nowhere)
    output_fd = os.dup(1 if _is_open(1) else nowhere)
    os.dup2(log_fd, 2)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    for fd in (nowhere, log_fd):
        if fd > 2:
            os.close(fd)
    if sys.platform == "win32":
        import msvcrt

        for fd in (input_fd, output_fd):
            msvcrt.setmode(fd, os.O_BINARY)
    sys.stdout = open(1, "w", closefd=False, encoding="ascii", errors="replace")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115
    return input_fd, output_fd


def _logger(traffic: bool) -> Callable[[str], None]:
    """Return what writes time-stamped lines to file descriptor 2; without a log file it does nothing."""
    if not traffic:
        return lambda text: None
    import faulthandler

    faulthandler.enable(2)

    def log(text: str) -> None:
        now = time.time()
        stamp = f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(now))}.{int(now * 1000) % 1000:03d}"
        with contextlib.suppress(OSError):  # a full disk must not cost the game
            os.write(2, f"{stamp} {text}\n".encode("utf-8", "replace"))

    return log


def _report_failure(
    reason: str,
    writer: Writer,
    events: queue.SimpleQueue[object],
    terminal_fd: int | None,
    output_fd: int,
    *,
    person: bool,
) -> None:
    """Say once why the brain cannot start: to a person, and to a manager as the answer that it waits for."""
    if terminal_fd is not None and not _same_file(terminal_fd, output_fd):
        with contextlib.suppress(OSError):
            os.write(terminal_fd, f"{PROGRAM}: {reason}\n".encode("utf-8", "replace"))
        if person:
            return
    give_up_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_s:
        try:
            event = events.get(timeout=max(0.0, give_up_s - time.monotonic()))
        except queue.Empty:
            break
        if isinstance(event, Ended) or (isinstance(event, Line) and event.text[:4].upper() != b"INFO"):
            break
    writer(error(reason))


def _same_file(a: int, b: int) -> bool:
    """Return whether two descriptors lead to the same pipe or file, or might do so."""
    if os.isatty(a):
        return False
    try:
        return sys.platform == "win32" or os.path.sameopenfile(a, b)
    except OSError:
        return True


if __name__ == "__main__":
    os._exit(run_piped(main))
