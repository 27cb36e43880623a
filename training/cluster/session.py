"""The way to a cluster of Ray, and one clear error where there is none."""

from __future__ import annotations

import logging
import re
import socket

import ray

_TRY_S = 5.0


class ClusterError(RuntimeError):
    """There is no cluster to play on; the message says why and what to do."""


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


def _reach(address: str) -> None:
    match = re.fullmatch(r"\[?([^\[\]/]+?)\]?:([0-9]{1,5})", address)
    if match is None or int(match[2]) > 65535:
        raise ClusterError(f"--ray takes auto or HOST:PORT, as 10.0.0.1:6379, not {address!r}")
    try:
        socket.create_connection((match[1], int(match[2])), timeout=_TRY_S).close()
    except OSError as error:
        raise ClusterError(f"nothing listens at {address} ({error.strerror or error})") from error
