"""Evaluators for many positions at once: nets on the CPU or a GPU, and opponents made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.encoding import FEATURE_VERSION
from engine.evaluator.base import PYTHON_COST, Evaluator, Keys, Planes, Policy, Wdl
from engine.rules.rule import NET_RULES

if TYPE_CHECKING:
    from training.net.network import Network

UNIFORM = "uniform"
"""Name of the evaluator without a net: even priors, value 0."""
_MAX_WEIGHTS = 1 << 30  # bytes of a file; derived: 250 million weights
TACTICAL = "tactical"
"""Name of the evaluator with priors made by hand."""


class HandMadeEvaluator:
    """Priors from the tactical planes, or even ones; values are always 0 (a draw)."""

    feature_version = FEATURE_VERSION
    max_batch: int | None = None
    min_side, max_side = 5, 22
    rules: tuple[int, ...] = NET_RULES
    backend = None
    cost = PYTHON_COST

    # Logit of a point for each plane that is set there; own shapes a little over the opponent's.
    _WEIGHTS = (
        (3, 9.0), (4, 8.0), (5, 6.0), (6, 5.0), (7, 1.0), (8, 0.5), (9, 1.5), (10, 1.2), (11, 3.0), (12, 2.5),
    )  # fmt: skip
    _NEAR = 1.0  # logit a stone within two cells, up to four stones

    def __init__(self, name: str) -> None:
        self.name = name

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """See `Evaluator.evaluate`."""
        batch, _, height, width = planes.shape
        wdl = np.zeros((batch, 3), np.float32)
        wdl[:, 1] = 1
        policy = np.zeros((batch, height, width), np.float32)
        if self.name == TACTICAL:
            stones = np.pad(planes[:, 1] + planes[:, 2], ((0, 0), (2, 2), (2, 2)))
            for dy in range(5):
                for dx in range(5):
                    policy += stones[:, dy : dy + height, dx : dx + width]
            np.minimum(policy, 4, out=policy)
            policy *= self._NEAR
            for plane, weight in self._WEIGHTS:
                policy += weight * planes[:, plane]
        return policy.reshape(batch, -1), wdl


class TorchEvaluator:
    """A net on a GPU in bfloat16; batches are padded to few different sizes."""

    max_batch: int | None = None
    min_side, max_side = 5, 22
    rules: tuple[int, ...] = NET_RULES
    feature_version = FEATURE_VERSION
    backend = None
    cost = PYTHON_COST
    _STEP = 64  # batches are rounded up to a multiple, so that cuDNN sees few shapes

    def __init__(self, path: Path, device: str) -> None:
        """Load weights exported for self-play.

        Args:
            path: file of `save_weights`.
            device: of torch, e.g. "cuda".

        Raises:
            ValueError: the file holds no such weights; it is named.
        """
        import torch

        from training.files.foreign import read_bounded
        from training.net.archive import load_plain
        from training.net.network import Network
        from training.settings.schema import NetConfig
        from training.settings.values import from_mapping

        self._torch, self._device = torch, torch.device(device)
        try:
            stored = load_plain(read_bounded(path, _MAX_WEIGHTS))
            self.name = str(stored["net_id"])
            network = Network(from_mapping(NetConfig, stored["config"]))
            network.load_state_dict(stored["weights"])
        except (ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
            raise ValueError(f"{path}: no weights for self-play ({error})") from error
        self._network = network.to(self._device).eval()
        self._network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        for parameter in self._network.parameters():
            parameter.requires_grad_(False)

    def evaluate(self, planes: Planes, keys: Keys) -> tuple[Policy, Wdl]:
        """See `Evaluator.evaluate`."""
        torch = self._torch
        rows = len(planes)
        padded = -(-rows // self._STEP) * self._STEP
        with torch.inference_mode(), torch.autocast(self._device.type, torch.bfloat16):
            # Planes are 0 or 1: bytes cross the bus in a quarter of the time.
            x = torch.from_numpy(planes.astype(np.uint8)).to(self._device, non_blocking=True)
            if padded > rows:
                x = torch.nn.functional.pad(x, (0, 0, 0, 0, 0, 0, 0, padded - rows))
            x = x.to(torch.bfloat16).contiguous(memory_format=torch.channels_last)
            heads = self._network(x)
            wdl = torch.softmax(heads.wdl[:rows].float(), 1).cpu().numpy()
            # One of several policies of the net: not side by side in memory, which the kernel asks for.
            return heads.policy[:rows].float().contiguous().cpu().numpy(), wdl


def save_weights(network: Network, path: Path, net_id: str) -> None:
    """Write a net for `TorchEvaluator`, atomically."""
    import io

    import torch

    from training.files.atomic import write_atomically
    from training.settings.values import to_mapping

    buffer = io.BytesIO()
    weights = {name: value.cpu() for name, value in network.state_dict().items()}
    torch.save({"net_id": net_id, "config": to_mapping(network.config), "weights": weights}, buffer)
    write_atomically(path, buffer.getvalue())


def load_evaluator(name: str, device: str = "cpu") -> Evaluator:
    """Return the evaluator that a name or file means.

    Args:
        name: `uniform`, `tactical`, or a net file (.onnx on the CPU, .pt on a GPU).
        device: "cpu" or a CUDA device.

    Raises:
        NetError: a net that cannot be used.
    """
    if name in (UNIFORM, TACTICAL):
        return HandMadeEvaluator(name)
    if name.endswith(".pt"):
        return TorchEvaluator(Path(name), device)
    from engine.evaluator.make import load_net

    return load_net(name)
