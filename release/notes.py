"""Print the notes of a release: its section of CHANGELOG.md.

    python -m release.notes 0.1.0
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.pipes import run_piped

CHANGELOG = Path(__file__).resolve().parent.parent / "CHANGELOG.md"


def notes_of(text: str, version: str) -> str:
    """Return what a changelog says of a version, without the line of its name.

    Args:
        text: of the changelog, a `## VERSION - DATE` line above each section.
        version: as `0.1.0`.

    Raises:
        ValueError: the changelog has no such section, or an empty one.
    """
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        head, _, body = section.partition("\n")
        if head.split(" - ")[0].strip() == version and body.strip():
            return body.strip()
    raise ValueError(f"CHANGELOG.md says nothing of {version}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the notes; return 0, or 1 without any."""
    parser = argparse.ArgumentParser(
        prog="python -m release.notes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("version", help="as 0.1.0")
    args = parser.parse_args(arguments)
    try:
        notes = notes_of(CHANGELOG.read_text(encoding="utf-8"), args.version)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(notes)
    return 0


if __name__ == "__main__":
    sys.exit(run_piped(main))
