"""Lines of text: printable ASCII, short, never empty. Light, since it is needed before anything is loaded."""

from __future__ import annotations

LINE_CAP = 240
"""Longest line that is sent (protocol: managers cut or lose what is longer than about 250)."""


def clean(text: str, cap: int = LINE_CAP) -> str:
    """Return text as one line of printable ASCII of at most `cap` characters."""
    return "".join(c if " " <= c <= "~" else "?" for c in " ".join(text.split()))[:cap].rstrip()


def error(reason: str) -> str:
    """Say that a known command cannot be carried out."""
    return clean(f"ERROR {reason}")


def unknown(text: str) -> str:
    """Say that a line is no command."""
    return clean(f"UNKNOWN command {clean(text, 40)}")


def message(text: str) -> str | None:
    """Return a line for the eyes of the user, None if there is nothing to say (protocol: no bare MESSAGE)."""
    text = clean(text, LINE_CAP - len("MESSAGE "))
    return f"MESSAGE {text}" if text else None
