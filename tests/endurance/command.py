"""What the commands of long runs share: how they are asked, and how they say what they found."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def parser(name: str, about: str | None) -> argparse.ArgumentParser:
    """Return the parser of the command `tests.endurance.NAME` with the option --seed."""
    made = argparse.ArgumentParser(
        prog=f"python -m tests.endurance.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--seed", type=int, default=1, help="of everything drawn (1)")
    return made


def report(failures: Sequence[str], seed: int) -> int:
    """Print what was wrong, with the seed that shows it again; return the exit status."""
    for failure in failures:
        print(f"BAD {failure} (seed {seed})")
    print("nothing was wrong" if not failures else f"{len(failures)} faults")
    return 1 if failures else 0
