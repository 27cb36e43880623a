"""Names of files as text: what a locale cannot spell is still shown and written as UTF-8."""

from __future__ import annotations

import os
from pathlib import Path


def shown_name(path: Path) -> str:
    """Return the last part of a path as text that every encoder of UTF-8 takes.

    Python keeps bytes of a name that its locale cannot decode as lone surrogates, which no encoder takes.
    Here they are read as UTF-8, and what is none becomes U+FFFD.
    """
    return os.fsencode(path.name).decode("utf-8", "replace")
