"""The way to a cluster of Ray, and one clear error where there is none."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import time

import ray

_TRY_S = 5.0
_HEAD_TRY_S = 2.0
_HEAD_PATIENCE_S = 15.0  # derived: Ray ends a process whose head is silent for 60 s, and says why nowhere
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""What opens a connection of gRPC, which a head answers (RFC 9113, 3.4): the preface and empty SETTINGS."""
_AGAIN = "start Ray again, then the same command, which goes on with all games that had arrived"


class ClusterError(RuntimeError):
    """There is no cluster to play on; the message says why and what to do."""


class HeadLostError(ClusterError):
    """The cluster that this process has joined is no more."""


def connect(address: str) -> None:
    """Join a running cluster as its driver; nothing happens if this process has done so before.

    Args:
        address: `auto` for the cluster of this machine, or `HOST:PORT` of its head.

    Raises:
        ClusterError: nothing listens there, another version of Ray or Python does, or this machine is no
            part of it.
    """
    if ray.is_initialized():
        return
    if address != "auto":
        _reach(address)
    # A lost player has two orders; the traceback of the second says nothing that the line about it does not.
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    try:
        ray.init(address=address, namespace="tengen", logging_level=logging.ERROR, log_to_driver=False)
    except Exception as error:  # whatever Ray says: one line of it
        first = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ClusterError(
            f"no cluster of Ray at {address} ({first}): is `ray start` running on this machine, with the "
            "same versions of Ray and Python?"
        ) from error


def leave() -> None:
    """End what this process began on the cluster."""
    ray.shutdown()


class Head:
    """Whether the cluster that this process has joined still lives.

    To be asked before Ray is: a process that asks a silent head waits for a minute and is ended then, one
    that reaches for its machine's object store when that is gone is ended at once, both without a word.
    """

    def __init__(self) -> None:
        context = ray.get_runtime_context()
        self._address: str = context.gcs_address
        node = next(node for node in ray.nodes() if node["NodeID"] == context.get_node_id())
        self._path: str = node["RayletSocketName"]
        self._line: socket.socket | None = None  # to the processes here; it closes when they end
        self._silent_since_s: float | None = None

    def answers(self) -> bool:
        """Return whether the head can be asked now.

        Raises:
            HeadLostError: it has not answered for too long, or see `check_here`.
        """
        self.check_here()
        host, _, port = self._address.rpartition(":")
        try:
            with (
                socket.create_connection((host.strip("[]"), int(port)), timeout=_HEAD_TRY_S) as line,
                contextlib.suppress(ConnectionError),
            ):
                line.sendall(_HELLO)
                line.recv(1)  # whatever it is: the system accepts connections also for a process that hangs
        except OSError as error:
            now_s = time.monotonic()
            if self._silent_since_s is None:
                self._silent_since_s = now_s
            if now_s - self._silent_since_s > _HEAD_PATIENCE_S:
                raise HeadLostError(
                    f"the head of the cluster at {self._address} does not answer any more "
                    f"({error.strerror or error}); {_AGAIN}"
                ) from error
            return False
        self._silent_since_s = None
        return True

    def check_here(self) -> None:
        """Check that Ray's processes of this machine live.

        Raises:
            HeadLostError: they do not, so that no net can leave it.
        """
        if not self._path.startswith("/"):
            return  # a system without such sockets
        if self._line is not None:
            with contextlib.suppress(OSError):
                try:
                    self._line.recv(1)
                except BlockingIOError:
                    return
        line = socket.socket(socket.AF_UNIX)
        try:
            line.connect(self._path)
        except (ConnectionError, FileNotFoundError) as error:
            line.close()
            raise HeadLostError(f"Ray's processes on this machine have ended; {_AGAIN}") from error
        line.setblocking(False)
        self._line = line


def _reach(address: str) -> None:
    match = re.fullmatch(r"\[?([^\[\]/]+?)\]?:([0-9]{1,5})", address)
    if match is None or int(match[2]) > 65535:
        raise ClusterError(f"--ray takes auto or HOST:PORT, as 10.0.0.1:6379, not {address!r}")
    try:
        socket.create_connection((match[1], int(match[2])), timeout=_TRY_S).close()
    except OSError as error:
        raise ClusterError(f"nothing listens at {address} ({error.strerror or error})") from error
