"""The files of the page, read once; a request names one of them or nothing at all.

No part of a request is ever made into a path.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from engine.errors import EngineError

FOLDER = Path(__file__).parent / "static"
LIBRARIES = Path(__file__).parent / "third_party"
START = "index.html"
_TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
    ".json": "application/json", ".webmanifest": "application/manifest+json",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page."""

    content: bytes
    media_type: str
    etag: str


def load(folder: Path = FOLDER, libraries: Path = LIBRARIES) -> dict[str, Asset]:
    """Return URL path -> file; "/" is the page itself, "/third_party/" begins those of others.

    Raises:
        EngineError: the folder is missing or has no page.
    """
    found = {}
    for root, prefix in ((folder, "/"), (libraries, "/third_party/")):
        for path in sorted(root.rglob("*")):
            if path.suffix in _TYPES:
                content = path.read_bytes()
                digest = hashlib.blake2b(content, digest_size=12).hexdigest()
                name = prefix + path.relative_to(root).as_posix()
                found[name] = Asset(content, _TYPES[path.suffix], f'"{digest}"')
    if "/" + START not in found:
        raise EngineError(f"{folder} has no {START}: a part of the program is missing")
    found["/"] = found["/" + START]
    found["/favicon.ico"] = found["/icon.svg"]  # browsers request it with every page
    return found
