"""Commands of brains as users write them: a path, or words as in a shell."""

from __future__ import annotations

import os
import shlex
import shutil


class CommandError(ValueError):
    """A command that cannot be run; the message says why in one line."""


def split_command(text: str) -> list[str]:
    """Return the words of a command; the path of an existing file is one word, blanks and all.

    Raises:
        CommandError: no words, an open quote, or a program that does not exist. Where a path with a blank
            was not quoted, the message says so.
    """
    if os.path.isfile(text):
        return [text]
    try:
        words = split_words(text, backslashes=os.name != "posix")
    except ValueError as error:
        raise CommandError(f"{text!r} is no command: {error}") from error
    if not words:
        raise CommandError("the command of the brain is empty")
    if shutil.which(words[0]) is None:
        raise CommandError(_why_missing(text, words))
    return words


def split_words(text: str, *, backslashes: bool) -> list[str]:
    """Return the words of a line; either quote keeps blanks together, so that `shlex.join` is undone.

    Args:
        text: the line.
        backslashes: whether they are part of paths, as on Windows, or take away the meaning of what follows.

    Raises:
        ValueError: a quote is open.
    """
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    if backslashes:
        lexer.escape = ""
    return list(lexer)


def _why_missing(text: str, words: list[str]) -> str:
    """Return why the first word of a command is no program."""
    program = words[0]
    parts = text.split(" ")
    for end in range(len(parts), 1, -1):
        path = " ".join(parts[:end])
        if os.path.isfile(path):
            rest = " ".join(parts[end:])
            return f"{program!r} is no program; quote the path: {shlex.quote(path)} {rest}".rstrip()
    if os.path.isdir(program):
        return f"{program!r} is a folder, not a program"
    if os.path.isfile(program):
        return f"{program!r} is not executable"
    return f"there is no program {program!r}"
