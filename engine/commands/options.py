"""Command-line options that several developer commands share."""

from __future__ import annotations

import argparse
import re

from engine.config import MAX_THREADS, MIN_THREADS, EngineConfig, load_config
from engine.ranges import shown
from engine.rules._board import MAX_SIDE, MIN_SIDE
from engine.rules.rule import Rule, rule_from_text


def add_config_options(parser: argparse.ArgumentParser, *, threads: bool = False) -> None:
    """Add --net, --config and --set, and --threads if wanted."""
    parser.add_argument(
        "--net",
        metavar="NET",
        help='an .onnx file, a name in engine/nets, or "uniform" for none (default: the best)',
    )
    parser.add_argument("--config", metavar="FILE", help="TOML file with settings of the engine")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one setting, wins over the file; repeatable",
    )
    if threads:
        parser.add_argument(
            "--threads", type=parse_threads, metavar="N", help="that search one tree together (default 1)"
        )


def config_from(args: argparse.Namespace, **defaults: object) -> EngineConfig:
    """Return the configuration that the options of `add_config_options` ask for.

    Args:
        defaults: of this command, used where the options leave a field at its default.

    Raises:
        ConfigError: unknown key or bad value.
    """
    settings = list(args.set) + ([f"net={args.net}"] if args.net is not None else [])
    if getattr(args, "threads", None) is not None:
        settings.append(f"threads={args.threads}")
    config = load_config(args.config, settings)
    untouched = EngineConfig()
    changes = {k: v for k, v in defaults.items() if getattr(config, k) == getattr(untouched, k)}
    return config.replace(**changes)


def add_board_options(parser: argparse.ArgumentParser) -> None:
    """Add --size and --rule."""
    parser.add_argument(
        "--size", metavar="N|WxH", type=parse_size, default=(15, 15),
        help=f"board, {MIN_SIDE} to {MAX_SIDE} (default 15)",
    )
    names = ", ".join(f"{rule.value} {rule.name.lower()}" for rule in Rule)
    parser.add_argument(
        "--rule", type=parse_rule, default=Rule.FREESTYLE, help=f"number or name: {names} (default 0)"
    )


def add_rows_option(parser: argparse.ArgumentParser) -> None:
    """Add --rows-from."""
    parser.add_argument(
        "--rows-from", choices=["top", "bottom"], default="top", dest="rows_from",
        help="where row 1 is; players of renju count from the bottom (default top)",
    )  # fmt: skip


def parse_threads(text: str) -> int:
    """Read a number of threads.

    Raises:
        argparse.ArgumentTypeError: no number, or out of range.
    """
    if not re.fullmatch(r"[0-9]{1,4}", text.strip()) or not MIN_THREADS <= int(text) <= MAX_THREADS:
        raise argparse.ArgumentTypeError(f"threads are {MIN_THREADS} to {MAX_THREADS}, not {shown(text)}")
    return int(text)


def parse_size(text: str) -> tuple[int, int]:
    """Read `15` or `20x15` (width first).

    Raises:
        argparse.ArgumentTypeError: neither, or out of range.
    """
    match = re.fullmatch(r"(\d+)(?:x(\d+))?", text.strip().lower())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 15 or 20x15")
    width = int(match[1])
    height = int(match[2] or width)
    if not (MIN_SIDE <= width <= MAX_SIDE and MIN_SIDE <= height <= MAX_SIDE):
        raise argparse.ArgumentTypeError(f"{text}: sides are {MIN_SIDE} to {MAX_SIDE}")
    return width, height


def parse_rule(text: str) -> Rule:
    """Read a number or a name such as `renju`.

    Raises:
        argparse.ArgumentTypeError: neither.
    """
    try:
        return rule_from_text(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
