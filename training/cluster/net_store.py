"""Nets on their way: bytes with a digest in Ray's object store, a file of them on each machine that plays."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import ray

from training.cluster.connection import Head
from training.cluster.scheduler import NetName
from training.files.atomic import write_atomically

_SUFFIXES = (".int8.onnx", ".fp32.onnx", ".onnx")
_KEEP = 8  # files on a machine, and parcels in the store
_FETCH_S = 60.0


class NetStoreError(RuntimeError):
    """A net cannot be sent, or what came is not what was sent."""


class NetStore:
    """Puts nets into the object store, each once."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._sent: dict[str, tuple[tuple[int, int], NetName]] = {}
        self._refs: dict[str, Any] = {}
        self.bytes_put = 0

    def name(self, net: str) -> NetName:
        """Return the name of a net file, whose bytes are in the store then, or of an evaluator without one.

        Raises:
            NetStoreError: the store does not take it.
            HeadLostError: the cluster is no more.
            OSError: it cannot be read.
        """
        suffix = next((s for s in _SUFFIXES if net.endswith(s)), "")
        if not suffix:
            return NetName("", net)
        status = os.stat(net)
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._sent.get(net)
        if known is None or known[0] != stamp:
            data = Path(net).read_bytes()
            name = NetName(_digest(data), suffix)
            if name.digest not in self._refs:
                self._head.check_here()
                try:
                    self._refs[name.digest] = ray.put(data)
                except ray.exceptions.RayError as error:
                    why = str(error).partition("\n")[0]
                    raise NetStoreError(f"Ray's object store does not take the net {net}: {why}") from error
                self.bytes_put += len(data)
            self._sent[net] = known = (stamp, name)
        return known[1]

    def refs(self, *names: NetName) -> dict[str, Any]:
        """Return what an order carries so that its player can fetch nets it lacks."""
        return {name.digest: self._refs[name.digest] for name in names if name.digest}

    def tidy(self, used: set[str]) -> None:
        """Let nets go that no order names any more, the oldest first."""
        spare = [digest for digest in self._refs if digest not in used]
        for digest in spare[: max(0, len(self._refs) - _KEEP)]:
            del self._refs[digest]
            self._sent = {net: sent for net, sent in self._sent.items() if sent[1].digest != digest}


def fetch(name: NetName, refs: dict[str, Any]) -> str:
    """Return the file of a net on this machine, or the name of an evaluator without one.

    Raises:
        NetStoreError: what came has another digest.
        OSError: the disk of this machine is full.
    """
    if not name.digest:
        return name.suffix
    folder = _folder()
    path = folder / f"{name.digest}{name.suffix}"
    if path.exists() and _digest(path.read_bytes()) == name.digest:
        path.touch()
        return str(path)
    data = ray.get(refs[name.digest], timeout=_FETCH_S)
    if _digest(data) != name.digest:
        raise NetStoreError("a net was damaged on its way")
    write_atomically(path, data)
    old = sorted(folder.glob("*.onnx"), key=lambda p: p.stat().st_mtime)
    for spare in old[:-_KEEP]:
        spare.unlink(missing_ok=True)
    return str(path)


def _folder() -> Path:
    """Return the folder of this user's nets on this machine, which nobody else can write."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"tengen-nets-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and (folder.is_symlink() or folder.stat().st_uid != user):
        raise NetStoreError(f"{folder} belongs to somebody else")
    return folder


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
