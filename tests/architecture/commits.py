"""Check the messages of commits that origin does not have yet: `python -m tests.architecture.commits`.

A subject is an imperative of at most 72 characters. A commit that touches the search, the solver or the rules
ends with `Bench: SIGNATURE`, as `python -m engine bench` prints it, or with `No functional change`. So
does Stockfish (https://github.com/official-stockfish/Stockfish/blob/master/CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LONGEST = 72
"""Characters of a subject: what git and its hosts show without cutting it off."""
KERNEL = ("engine/search/", "engine/threats/", "engine/rules/")
TRAILER = re.compile(r"(Bench: [0-9a-fx]+|No functional change)")
NO_VERB = frozenset({
    "a", "an", "the", "this", "that", "it", "its", "no", "not", "what", "why", "how", "when", "where", "who",
    "there", "and", "or", "with", "for", "from", "in", "on", "more", "less", "new", "some", "all", "any",
})  # fmt: skip
"""First words that no imperative has."""
VERBS = frozenset({
    "bias", "bring", "embed", "exceed", "feed", "focus", "need", "proceed", "seed", "shed", "speed", "string",
})  # fmt: skip
"""Imperatives that look like other forms of a verb."""


def problems(message: str, files: Sequence[str]) -> list[str]:
    """Return what is wrong with a commit; empty if nothing is.

    Args:
        message: subject, blank line, body.
        files: that the commit changes, from the root of the repository.
    """
    subject, _, body = message.strip().partition("\n")
    first = subject.partition(" ")[0]
    word = first.lower().rstrip(",:;")
    found = []
    if len(subject) > LONGEST:
        found.append(f"the subject has {len(subject)} characters, at most {LONGEST} are shown")
    if subject.endswith("."):
        found.append("the subject ends with a full stop")
    third_person = word.endswith("s") and not word.endswith("ss")
    other_form = word not in VERBS and (word.endswith(("ed", "ing")) or third_person)
    if not re.fullmatch(r"[A-Z][a-z-]+[,:;]?", first) or word in NO_VERB or other_form:
        found.append(f"the subject begins with {first!r}, not with an imperative such as Add, Fix, Rename")
    if body and not body.startswith("\n"):
        found.append("no blank line stands behind the subject")
    last = body.rstrip().rpartition("\n")[2]
    if any(name.startswith(KERNEL) for name in files) and not TRAILER.fullmatch(last):
        found.append("search, threats or rules change: end with `Bench: SIGNATURE` or `No functional change`")
    return found


def git(*words: str, folder: Path | None = None) -> str:
    """Return what git prints; raises CalledProcessError where it fails."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode("utf-8", errors="replace")


def check(since: str, folder: Path | None = None) -> list[str]:
    """Return a line for each fault of the commits since one, merges apart."""
    lines = []
    for commit in git("rev-list", "--no-merges", f"{since}..HEAD", folder=folder).split():
        message = git("show", "-s", "--format=%B", commit, folder=folder)
        changed = git("diff-tree", "--root", "--no-commit-id", "--name-only", "-r", commit, folder=folder)
        name = f"{commit[:9]} {message.splitlines()[0][:50]!r}"
        lines += [f"{name}: {text}" for text in problems(message, changed.splitlines())]
    return lines


def main() -> int:
    """Print the faults; 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", default="origin/main", help="the last commit that is not checked")
    arguments = parser.parse_args()
    try:
        lines = check(arguments.since)
    except (OSError, subprocess.CalledProcessError):
        print(f"commit messages: there is no {arguments.since} to compare with, nothing checked")
        return 0
    print("\n".join(lines) or f"commit messages since {arguments.since}: fine")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
