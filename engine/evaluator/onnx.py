"""Nets in .onnx files, run by onnxruntime on one thread. The only module that imports onnxruntime.

A net takes `planes` float32 [B, C, H, W] with B, H and W free, and gives `policy` float32 [B, A] (logits) and
`wdl` float32 [B, 3] (logits of win, draw, loss for the side to move). Its metadata names format, feature
version and origin; `describe` returns them.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.encoding import FEATURE_VERSION, N_PLANES
from engine.errors import NetError
from engine.evaluator.base import PYTHON_COST, Keys, Planes, Policy, Wdl

if TYPE_CHECKING:
    import onnxruntime

NET_FORMAT = "1"
"""Version of the file contract above, `tengen_format` in the metadata."""

WAY_OUT = "name a net with --net FILE, or play without one: --net uniform"
"""What every message about a missing net ends with."""

_FATAL = 4  # severity of onnxruntime's log; everything below stays silent, since stderr may reach the manager


class OnnxEvaluator:
    """A net in a session with one thread. See `engine.evaluator.base.Evaluator` for the attributes."""

    max_batch: int | None = None
    judge = None
    cost = PYTHON_COST

    def __init__(self, path: Path | str) -> None:
        """Load a net and check that it is one of ours.

        Raises:
            NetError: the file is missing, empty, damaged, not a net of Tengen, or of another feature version.
        """
        self.path = Path(path)
        self._session = _open(self.path)
        self.metadata: dict[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)
        _check(self.path, self._session, self.metadata)
        self.name = self.metadata.get("net_id") or self.path.stem
        self.feature_version = int(self.metadata["feature_version"])
        self.rules = tuple(int(r) for r in self.metadata.get("rules", "0,1,4,8,9").split(","))
        low, _, high = self.metadata.get("sizes", "5-22").partition("-")
        self.min_side, self.max_side = int(low), int(high or low)
        self._run = self._session.run
        self._outputs = ("policy", "wdl")

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """Run the net; see `Evaluator.evaluate`."""
        policy, logits = self._run(self._outputs, {"planes": planes})
        wdl = np.exp(logits - logits.max(axis=1, keepdims=True))
        wdl /= wdl.sum(axis=1, keepdims=True)
        return policy, wdl

    def constants(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the outputs named `prefix`..., by the rest of the name; planes must not matter for them."""
        names = [o.name for o in self._session.get_outputs() if o.name.startswith(prefix)]
        values = self._run(names, {"planes": np.zeros((1, N_PLANES, 5, 5), np.float32)}) if names else []
        return {name.removeprefix(prefix): value for name, value in zip(names, values, strict=True)}

    def describe(self) -> dict[str, str]:
        """Return metadata, file size and checksum of the net, as text for users."""
        return describe_file(self.path, self.metadata)


def describe_file(path: Path, metadata: dict[str, str]) -> dict[str, str]:
    """Return metadata, file size and checksum of a net, as text for users."""
    content = path.read_bytes()
    return {
        "file": str(path),
        "bytes": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
        **dict(sorted(metadata.items())),
    }


def runtime_version() -> str:
    """Return the version of onnxruntime."""
    return str(_runtime().__version__)


def _runtime() -> Any:
    """Import onnxruntime with its reports to its maker switched off.

    Since 1.29 it writes files into the home folder and calls a server unless told not to before it is loaded
    (https://github.com/microsoft/onnxruntime/pull/27379); on Windows it has a switch for afterwards.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def _open(path: Path) -> onnxruntime.InferenceSession:
    if not path.is_file():
        raise NetError(f"no net at {path}; {WAY_OUT}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise NetError(f"cannot read the net {path}: {error}") from error
    runtime = _runtime()
    runtime.set_default_logger_severity(_FATAL)
    options = runtime.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    # Bytes, not the path: a path outside of the system's code page fails on Windows, bytes never do.
    try:
        session: onnxruntime.InferenceSession = runtime.InferenceSession(
            content, options, providers=["CPUExecutionProvider"]
        )
        return session
    except Exception as error:  # onnxruntime raises classes of its own that share no base but this
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise NetError(f"{path} is damaged or no net ({len(content)} bytes): {reason}") from error


def _check(path: Path, session: onnxruntime.InferenceSession, metadata: dict[str, str]) -> None:
    if metadata.get("tengen_format") != NET_FORMAT:
        found = metadata.get("tengen_format", "none")
        raise NetError(f"{path} is not a net of Tengen (format {found}, expected {NET_FORMAT})")
    if metadata.get("feature_version") != str(FEATURE_VERSION):
        found = metadata.get("feature_version", "none")
        raise NetError(
            f"{path} was made for feature version {found}; this engine has {FEATURE_VERSION}: export it again"
        )
    inputs = {i.name: _shape(i) for i in session.get_inputs()}
    outputs = {o.name: _shape(o) for o in session.get_outputs()}
    planes = inputs.get("planes", [])
    if list(inputs) != ["planes"] or len(planes) != 4 or planes[1] != N_PLANES:
        raise NetError(f"{path} does not take `planes` [B, {N_PLANES}, H, W] but {inputs}")
    if not {"policy", "wdl"} <= set(outputs):
        raise NetError(f"{path} does not give `policy` and `wdl` but {', '.join(outputs)}")
    fixed = [size for i, size in enumerate(planes) if i != 1 and isinstance(size, int)]
    if fixed:
        raise NetError(f"{path} is bound to the shape {planes}; batch, height and width have to be free")


def _shape(node: Any) -> list[int | str | None]:
    return list(node.shape)
