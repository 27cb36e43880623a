"""Put faults into copies of the repository and see which are caught: python -m tests.mutation --set NAME.

The checkout is never changed. Status 0: enough were caught; 1: too few; 2: a fault does not fit the sources
any more, or its command fails without it.
"""

from __future__ import annotations

import argparse
import sys

from tests.helpers.paths import ROOT
from tests.mutation.runner import run_all
from tests.mutation.table import MutationError, load_set, set_names


def main() -> int:
    """Run a set, print a line for each fault and the sum."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--set", required=True, choices=set_names(), help="which table of faults")
    parser.add_argument(
        "--only", metavar="TEXT", action="append", help="only faults with this in their name; can be repeated"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="faults at a time (default 1)")
    parser.add_argument("--list", action="store_true", help="print the table and stop")
    args = parser.parse_args()
    try:
        chosen = load_set(args.set)
        mutations = [m for m in chosen.mutations if not args.only or any(t in m.name for t in args.only)]
        if not mutations:
            raise MutationError("no fault has such a name")
        if args.list:
            for mutation in mutations:
                print(f"{mutation.name}  [{mutation.file}: {' '.join(mutation.command)}]")
            return 0
        caught = 0
        for outcome in run_all(mutations, ROOT, max(1, args.jobs)):
            caught += outcome.caught
            mark = "caught" if outcome.caught else "MISSED"
            print(f"{mark}  {outcome.seconds:6.1f} s  {outcome.name}  ({outcome.how})", flush=True)
    except MutationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{caught} of {len(mutations)} caught, {chosen.share:.0%} wanted")
    return 0 if caught >= chosen.share * len(mutations) else 1


if __name__ == "__main__":
    sys.exit(main())
