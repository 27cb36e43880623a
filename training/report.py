"""One HTML page about a training run: `python -m training.report RUN`.

Everything comes from the run directory (log, standings, records); the page needs no network.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from training.files import console
from training.files.atomic import write_atomically
from training.files.foreign import ForeignFileError
from training.run.report import make_report


def main(argv: list[str] | None = None) -> int:
    """Write the report; return 0, or 2 when there is no run."""
    parser = argparse.ArgumentParser(prog="python -m training.report", description=__doc__)
    parser.add_argument("run", type=Path, help="run directory")
    parser.add_argument("--output", type=Path, help="file to write (RUN/report.html)")
    args = parser.parse_args(argv)
    try:
        page = make_report(args.run)
    except OSError as error:
        print(f"error: no run in {args.run}: {error}", file=sys.stderr)
        return 2
    except ForeignFileError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    output = args.output or args.run / "report.html"
    try:
        write_atomically(output, page.encode())
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(output)
    return 0


if __name__ == "__main__":
    sys.exit(console.run(main))
