"""Nets in .onnx files, run by onnxruntime on one thread. The only module that imports onnxruntime.

A net takes `planes` float32 [B, C, H, W] with B, H and W free, and gives `policy` float32 [B, A] (logits) and
`wdl` float32 [B, 3] (logits of win, draw, loss for the side to move). Its metadata names format, feature
version and origin; `describe` returns them.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.encoding import FEATURE_VERSION, PLANES_OF
from engine.errors import NetError
from engine.evaluator.base import PYTHON_COST, Keys, Planes, Policy, Wdl
from engine.rules._board import MAX_SIDE, MIN_SIDE
from engine.rules.rule import NET_RULES, Rule

if TYPE_CHECKING:
    import onnxruntime

NET_FORMAT = "1"
"""Version of the file contract above, `tengen_format` in the metadata."""

HINT_NO_NET = "name a net with --net FILE, or play without one: --net uniform"
"""What every message about a missing net ends with."""

MAX_NET_BYTES = 64 << 20
"""Largest file that is read (derived: a session takes some four times as much; 350 MiB are all we have)."""

MAX_NUMBERS = 8 << 20
"""Most numbers in all weights for the kernel (derived: a line net of the largest sizes has half)."""

_FATAL = 4  # severity of onnxruntime's log; everything below stays silent, since stderr may reach the manager


class OnnxEvaluator:
    """A net in a session with one thread. See `engine.evaluator.base.Evaluator` for the attributes."""

    max_batch: int | None = None
    backend = None
    cost = PYTHON_COST

    def __init__(self, path: Path | str) -> None:
        """Load a net and check that it is one of ours.

        Raises:
            NetError: the file is missing, empty, damaged, not a net of Tengen, or of another feature version.
        """
        self.path = Path(path)
        self._session = _open(self.path)
        self.metadata: dict[str, str] = _metadata(self.path, self._session)
        self.feature_version = _check(self.path, self._session, self.metadata)
        self.name = _name(self.path, self.metadata)
        self._planes = list(PLANES_OF[self.feature_version])
        self.rules = _rules(self.path, self.metadata)
        self.min_side, self.max_side = _sizes(self.path, self.metadata)
        self._run = self._session.run
        self._outputs = ("policy", "wdl")

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """Run the net; see `Evaluator.evaluate`.

        Raises:
            NetError: the runtime fails on the net's graph.
        """
        try:
            if self.feature_version != FEATURE_VERSION:
                planes = np.ascontiguousarray(planes[:, self._planes])
            policy, logits = self._run(self._outputs, {"planes": planes})
        except Exception as error:  # of classes that share no base but this
            raise NetError(f"{self.path} cannot be run: {_reason(error)}") from error
        with np.errstate(all="ignore"):  # the caller checks that the output is finite
            wdl = np.exp(logits - logits.max(axis=1, keepdims=True))
            wdl /= wdl.sum(axis=1, keepdims=True)
        return policy, wdl

    def constants(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the outputs named `prefix`..., by the rest of the name; planes must not matter for them.

        Raises:
            NetError: one has no fixed shape, all of them have too many numbers, or the runtime fails.
        """
        shapes = _shapes(self.path, self._session.get_outputs())
        found = {name: shape for name, shape in shapes.items() if name.startswith(prefix)}
        numbers = 0
        for name, shape in found.items():
            sides = [side for side in shape if isinstance(side, int) and side >= 0]
            if len(sides) < len(shape):
                raise NetError(f"{self.path}: {_shown(name)} has no fixed shape but {_shown(shape)}")
            numbers += math.prod(sides)
        if numbers > MAX_NUMBERS:
            raise NetError(f"{self.path} has {numbers} weights; {MAX_NUMBERS} are the most that is read")
        if not found:
            return {}
        names = list(found)
        options = _runtime().RunOptions()
        options.only_execute_path_to_fetches = True  # not the net itself
        try:
            values = self._run(names, {"planes": np.zeros((1, len(self._planes), 5, 5), np.float32)}, options)
        except Exception as error:  # as in `evaluate`
            raise NetError(f"{self.path}: weights cannot be read: {_reason(error)}") from error
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

    Since 1.29 it writes files into the home folder and calls a server unless that is disabled before the
    import (https://github.com/microsoft/onnxruntime/pull/27379); on Windows it has a switch for afterwards.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def _open(path: Path) -> onnxruntime.InferenceSession:
    if not path.is_file():
        raise NetError(f"no net at {path}; {HINT_NO_NET}")
    try:
        size = path.stat().st_size
        if size > MAX_NET_BYTES:
            raise NetError(f"{path} is too large for a net: {size} bytes, at most {MAX_NET_BYTES} are read")
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
            content, options, providers=["CPUExecutionProvider"],
            enable_fallback=0,  # it would print to stdout, where the replies go, and try the same again
        )  # fmt: skip
        return session
    except Exception as error:  # onnxruntime raises classes of its own that share no base but this
        raise NetError(f"{path} is damaged or no net ({len(content)} bytes): {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return the first line of an error's message, or what it is."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _shown(value: object) -> str:
    """Return the text of a file as one short line."""
    text = ascii(value)
    return text if len(text) <= 100 else text[:100] + "..."


def _metadata(path: Path, session: onnxruntime.InferenceSession) -> dict[str, str]:
    try:
        return dict(session.get_modelmeta().custom_metadata_map)
    except UnicodeDecodeError as error:
        raise NetError(f"{path} is damaged: its metadata are no text ({error.reason})") from error


def _name(path: Path, metadata: dict[str, str]) -> str:
    name = metadata.get("net_id") or path.stem
    if not name.isprintable() or len(name) > 100:
        raise NetError(f"{path}: bad metadata net_id={_shown(name)}: at most 100 printable characters")
    return name


def _rules(path: Path, metadata: dict[str, str]) -> tuple[int, ...]:
    text = metadata.get("rules", ",".join(str(rule) for rule in NET_RULES))
    known = {str(rule.value): int(rule) for rule in Rule}
    rules = [part.strip() for part in text.split(",")]
    if not set(rules) <= set(known):
        raise NetError(f"{path}: bad metadata rules={_shown(text)}: some of {', '.join(known)}, with commas")
    return tuple(known[rule] for rule in rules)


def _sizes(path: Path, metadata: dict[str, str]) -> tuple[int, int]:
    text = metadata.get("sizes", "5-22")
    low, _, high = text.partition("-")
    known = {str(side): side for side in range(MIN_SIDE, MAX_SIDE + 1)}
    sides = known.get(low.strip(), 0), known.get((high or low).strip(), 0)
    if not 0 < sides[0] <= sides[1]:
        within = f"{MIN_SIDE} to {MAX_SIDE}"
        raise NetError(f"{path}: bad metadata sizes={_shown(text)}: LOW-HIGH or SIDE, {within}")
    return sides


def _check(path: Path, session: onnxruntime.InferenceSession, metadata: dict[str, str]) -> int:
    """Return the feature version of a net that keeps the contract."""
    if metadata.get("tengen_format") != NET_FORMAT:
        found = _plain(metadata.get("tengen_format", "none"))
        raise NetError(f"{path} is not a net of Tengen (format {found}, expected {NET_FORMAT})")
    known = {str(version): version for version in PLANES_OF}
    version = known.get(metadata.get("feature_version", "none"), 0)
    if not version:
        found = _plain(metadata.get("feature_version", "none"))
        raise NetError(
            f"{path} was made for feature version {found}; this engine has {FEATURE_VERSION}: export it again"
        )
    inputs = _shapes(path, session.get_inputs())
    outputs = _shapes(path, session.get_outputs())
    planes = inputs.get("planes", [])
    wanted = len(PLANES_OF[version])
    if list(inputs) != ["planes"] or len(planes) != 4 or planes[1] != wanted:
        raise NetError(f"{path} does not take `planes` [B, {wanted}, H, W] but {_shown(inputs)}")
    if not {"policy", "wdl"} <= set(outputs):
        raise NetError(f"{path} does not give `policy` and `wdl` but {_shown(', '.join(outputs))}")
    fixed = [size for i, size in enumerate(planes) if i != 1 and isinstance(size, int)]
    if fixed:
        shape = _shown(planes)
        raise NetError(f"{path} is bound to the shape {shape}; batch, height and width have to be free")
    return version


def _plain(text: str) -> str:
    """Return a short word of a file as it is, anything else as `_shown`."""
    return text if text.isalnum() and len(text) <= 20 else _shown(text)


def _shapes(path: Path, nodes: Sequence[Any]) -> dict[str, list[int | str | None]]:
    """Return the shapes of inputs or outputs by name."""
    try:
        return {node.name: list(node.shape) for node in nodes}
    except UnicodeDecodeError as error:
        raise NetError(f"{path} is damaged: names in it are no text ({error.reason})") from error
