"""Show the metadata of a net file, and check its output on test positions."""

from __future__ import annotations

import argparse
import json

from engine.evaluator.check import check_evaluator
from engine.evaluator.make import load_net, net_path
from engine.evaluator.onnx import runtime_version


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "net",
        nargs="?",
        default="default",
        metavar="NET",
        help="a file or a name in engine/nets (default: the best)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the description."""
    evaluator = load_net(net_path(args.net))
    check_evaluator(evaluator)
    facts = {**evaluator.describe(), "onnxruntime": runtime_version(), "check": "passed"}
    if args.json:
        print(json.dumps(facts, indent=2))
    else:
        width = max(len(key) for key in facts)
        for key, value in facts.items():
            print(f"{key:<{width}}  {value}")
    return 0
