"""The access token: a page needs it to use the engines. It is a part of the address that the program prints.

It is after the `#` of the address, which browsers do not send; the page sends it by its socket. The
file that keeps it is readable by its owner alone. So the address stays the same over a restart, and an open
page comes back by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import sys
import time
from pathlib import Path

TOKEN_BYTES = 16
TICKET_S = 60
"""How long the address that is given to a browser can be opened, s."""
_TOKEN = re.compile(r"[0-9a-f]{32}")
_FILE = "board-token"
ESTABLISHED = "01"  # state of a connection in /proc/net/tcp


class Access:
    """A token, and what is made from it."""

    def __init__(self, token: str) -> None:
        self.token = token
        self._redeemed: set[str] = set()

    @classmethod
    def kept(cls) -> Access:
        """Return the access of this user; a new one for this run alone where nothing can be stored."""
        folder = state_folder()
        token = None
        if folder is not None:
            with contextlib.suppress(OSError):
                token = _read(folder / _FILE) or _write(folder / _FILE)
        return cls(token or secrets.token_hex(TOKEN_BYTES))

    def allows(self, offered: str) -> bool:
        """Return whether this is the token; takes as long for a wrong one."""
        return secrets.compare_digest(offered.encode("utf-8", "replace"), self.token.encode())

    def proof(self, nonce: str) -> str:
        """Return the answer to a nonce that only the token can make."""
        return self._sign("proof", nonce)

    def ticket(self) -> str:
        """Return a text that opens the page once, within a minute.

        A browser is started with an address, and other users of the machine can read its arguments; the token
        must not be among them.
        """
        body = f"{int(time.time()):x}.{secrets.token_hex(8)}"
        return f"{body}.{self._sign('ticket', body)}"

    def redeem(self, ticket: str) -> bool:
        """Return whether a ticket is good, and has not been used before."""
        body, _, proof = ticket.rpartition(".")
        expected = self._sign("ticket", body)
        if not secrets.compare_digest(proof.encode("utf-8", "replace"), expected.encode()):
            return False
        age_s = time.time() - int(body.partition(".")[0], 16)
        if not -1 <= age_s <= TICKET_S or ticket in self._redeemed:
            return False
        self._redeemed.add(ticket)
        return True

    def _sign(self, purpose: str, text: str) -> str:
        content = f"{purpose} {text}".encode("utf-8", "replace")
        return hashlib.blake2b(content, key=self.token.encode(), digest_size=16).hexdigest()


def state_folder() -> Path | None:
    """Return the folder for state of this user's programs; None where there is none."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "Tengen" if base else None
    chosen = os.environ.get("XDG_STATE_HOME", "")
    try:
        return (Path(chosen) if Path(chosen).is_absolute() else Path.home() / ".local" / "state") / "tengen"
    except RuntimeError:  # no home
        return None


def _read(path: Path) -> str | None:
    """Return the token of a file; None where it has none, or where others could have read or written it."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(fd, encoding="ascii", errors="replace") as file:
        if sys.platform != "win32":
            found = os.fstat(file.fileno())
            mine = found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077
            if not mine or not stat.S_ISREG(found.st_mode):
                return None
        text = file.read(100).strip()
    return text if _TOKEN.fullmatch(text) else None


def _write(path: Path) -> str:
    """Make a new token and its file; another program that does so at the same time gets its own or this one.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = secrets.token_hex(TOKEN_BYTES)
    fresh = path.with_name(f"{_FILE}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink()
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w", encoding="ascii") as file:
        file.write(token + "\n")
    os.replace(fresh, path)
    return token


def is_of_another_user(client: tuple[str, int] | None, port: int) -> bool:
    """Return whether a connection to a port of this machine comes from another user (Linux; else False).

    Root may do anything, and passes connections on for others.
    """
    if client is None or not sys.platform.startswith("linux"):
        return False
    owners = _owners(client[1], port)
    return bool(owners) and not owners & {0, os.getuid()}


def _owners(near: int, far: int) -> set[int]:
    """Return who owns the ends at port `near` of connections of this machine to port `far`, by /proc."""
    owners = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{name}", encoding="ascii") as table:
            for line in table:
                _, mine, other, state, *_, owner = line.split()[:8]
                ends = mine.endswith(f":{near:04X}") and other.endswith(f":{far:04X}")
                if state == ESTABLISHED and ends:
                    owners.add(int(owner))
    return owners
