"""The averaged net (EMA) of a checkpoint: what exports, new runs and students use."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import torch

from engine.encoding import FEATURE_VERSION, PLANES_OF, widen_weights
from training.learn import checkpoint
from training.net.network import Network
from training.settings.schema import NetConfig
from training.settings.values import from_mapping


@contextlib.contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn what wrong contents of a checkpoint raise into one kind of error that names the file."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RuntimeError) as error:
        raise checkpoint.CheckpointError(f"{path}: contents damaged ({error})") from error


def load_averaged(path: Path) -> tuple[Network, dict[str, Any]]:
    """Return the averaged net of a checkpoint, on the CPU, and the checkpoint's whole state.

    Raises:
        checkpoint.CheckpointError: damaged, or made for other planes.
    """
    state = checkpoint.read_checkpoint(path)
    version = check_features(path, state, PLANES_OF)
    with plain_errors(path):
        model = Network(from_mapping(NetConfig, state["config"]["net"]))
        weights = dict(state["averaged"])
        if version != FEATURE_VERSION:
            name = "stem.planes.weight" if "stem.planes.weight" in weights else "stem.weight"
            weights[name] = torch.from_numpy(widen_weights(weights[name].numpy(), version, axis=1))
        model.load_state_dict(weights)
    return model.eval(), state


def slim(state: dict[str, Any]) -> dict[str, Any]:
    """Return what a teacher needs of a checkpoint: its averaged net, the matrices in 16 bits."""
    kept = {name: state[name] for name in ("feature_version", "config", "window", "batches", "samples")}
    halved = {name: t.half() if t.ndim > 1 else t for name, t in state["averaged"].items()}
    return {**kept, "averaged": halved}


def check_features(path: Path, state: dict[str, Any], readable: Collection[int]) -> int:
    """Return the feature version of a checkpoint.

    Raises:
        checkpoint.CheckpointError: it is none of those that can be read.
    """
    found = state.get("feature_version")
    if isinstance(found, bool) or not isinstance(found, int) or found not in readable:
        raise checkpoint.CheckpointError(
            f"{path}: made for feature version {found}, this program has {FEATURE_VERSION}"
        )
    return found
