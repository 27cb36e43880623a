"""From a configuration to an evaluator: finds the net file and puts the decorators around it."""

from __future__ import annotations

from pathlib import Path

from engine.config import EngineConfig
from engine.errors import ConfigError, NetError
from engine.evaluator._lines import paths
from engine.evaluator.base import Evaluator
from engine.evaluator.lines import KIND, LineEvaluator
from engine.evaluator.onnx import HINT_NO_NET, OnnxEvaluator

NETS = Path(__file__).resolve().parent.parent / "nets"
"""Folder of the shipped nets."""

TOWER = "tower"
"""Metadata `kind` of nets that onnxruntime runs; files without a kind are such."""

DEFAULT_NAME = "default.txt"
"""File in `NETS` with the name of the default net."""


def net_path(net: str, nets: Path = NETS) -> Path:
    """Return the file that a net's name, path or "default" means.

    Raises:
        NetError: there is no such file; the message names it and the way to play without a net.
    """
    if net == "default":
        pointer = nets / DEFAULT_NAME
        try:
            name = pointer.read_text(encoding="utf-8").strip()
        except OSError:
            raise NetError(f"no default net: {pointer} is missing; {HINT_NO_NET}") from None
        candidates = [nets / name]
    else:
        candidates = [Path(net), nets / net, nets / f"{net}.int8.onnx", nets / f"{net}.fp32.onnx",
                      nets / f"{net}.onnx"]  # fmt: skip
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise NetError(f"no net at {candidates[0]}; {HINT_NO_NET}")


def load_net(path: Path | str, lines: str | None = None) -> OnnxEvaluator | LineEvaluator:
    """Load a net file: a line net into the compiled kernel, any other into onnxruntime.

    Args:
        path: the file.
        lines: the kernel's path for line nets, one of `engine.evaluator._lines.PATHS`; None: the fastest.

    Raises:
        ConfigError: this processor cannot take that path.
        NetError: the file is missing, damaged, not a net of Tengen, of another feature version, or of a kind
            that is not known here.
    """
    if lines is not None and lines not in paths():
        raise ConfigError(f"lines must be one of {', '.join(paths())} on this processor, not {lines!r}")
    net = OnnxEvaluator(path)
    kind = net.metadata.get("kind", TOWER)
    if kind not in (KIND, TOWER):
        raise NetError(f"{path}: unknown kind of net: kind={kind[:60]!a}; known: {KIND}, {TOWER}")
    return LineEvaluator(net, path=lines) if kind == KIND else net


def make_evaluator(config: EngineConfig, seed: int, *, decorate: bool = True) -> Evaluator:
    """Load the evaluator that a configuration names.

    Args:
        config: `net`, `lines`, `symmetry` and `cache_mib` are used.
        seed: of random orientations, and of the hashed evaluator.
        decorate: whether to add orientation and cache.

    Raises:
        NetError: the net is missing, damaged, foreign or gives impossible answers.
    """
    if config.net == "uniform":
        from engine.evaluator.uniform import UniformEvaluator

        return UniformEvaluator()
    if config.net == "hashed":
        from engine.evaluator.hashed import HashedEvaluator

        return HashedEvaluator(seed)
    from engine.evaluator.check import check_evaluator

    evaluator: Evaluator = load_net(net_path(config.net), config.lines)
    check_evaluator(evaluator, quick=True)
    if not decorate:
        return evaluator
    if config.symmetry:
        from engine.evaluator.symmetry import SymmetricEvaluator

        evaluator = SymmetricEvaluator(evaluator, seed)
    if config.cache_mib and evaluator.backend is None:  # the kernel is faster than the way through the cache
        from engine.evaluator.cache import CachedEvaluator

        evaluator = CachedEvaluator(evaluator, config.cache_mib << 20)
    return evaluator
