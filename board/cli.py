"""The board in the browser: play, analyse and review games on a page that this machine serves to itself."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.config import EngineConfig, load_config
from engine.errors import EngineError

MISSING = (
    "the board needs starlette, uvicorn and websockets; get them with `make board`, or with "
    "`pip install 'tengen-gomoku[board]'`"
)
MAX_ENGINES = 64
MEMORY_MIB = 320
"""Private memory of an engine, unless --set memory_bytes=... says otherwise (derived: twenty minutes of
analysis; four of them fit into 2 GB)."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="board", description=__doc__)
    made.add_argument(
        "--port", type=_port, default=None, metavar="N", help="of the page; 0 takes any (default 8765)"
    )
    made.add_argument("--no-browser", action="store_true", help="only print the address")
    made.add_argument(
        "--address", default="127.0.0.1",
        help="to listen on (default 127.0.0.1); 0.0.0.0 opens the board to the network, for those who know "
        "the token in the address that is printed",
    )  # fmt: skip
    made.add_argument(
        "--engines", type=_engines, default=4, metavar="N", help="that may think at once (default 4)"
    )
    made.add_argument(
        "--opponent", metavar="PATH", action="append", default=[],
        help="another Gomocup brain that may be chosen as player; can be repeated",
    )  # fmt: skip
    made.add_argument("--net", metavar="NET", help="an .onnx file, or the name of a shipped net")
    made.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="settings",
        help="one setting of the engine; can be repeated",
    )  # fmt: skip
    return made


def main(argv: Sequence[str], version: str) -> int:
    """Serve the board; return the exit status."""
    options = parser().parse_args(argv)
    try:
        for name in ("starlette", "uvicorn", "websockets"):
            if importlib.util.find_spec(name) is None:
                raise EngineError(MISSING)
        from board.engine_pool import board_threads

        settings = [f"memory_bytes={MEMORY_MIB << 20}", f"threads={board_threads()}", *options.settings]
        if options.net is not None:
            net = Path(options.net)
            settings.append(f"net={net.resolve() if net.is_file() else options.net}")
        config = load_config(None, settings)
        from board.brains import named
        from board.engine_pool import EnginePool
        from board.launch import serve

        names, arguments = named(options.opponent)
        pool = EnginePool(options.engines, [*settings, *arguments], names, config.threads)
        if config.net not in (EngineConfig().net, "uniform", "hashed"):
            pool.check()  # a net of the options may be missing or invalid; the page would say so too late
        return serve(options.address, options.port, pool, browser=not options.no_browser, version=version)
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 <= int(text[:9]) <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


def _engines(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MAX_ENGINES:
        raise argparse.ArgumentTypeError(f"engines are a number from 1 to {MAX_ENGINES}")
    return int(text)
