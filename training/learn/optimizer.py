"""What turns gradients into steps: AdamW for all weights, or Muon for the matrices inside the net.

Muon (https://kellerjordan.github.io/posts/muon/) makes each step of a matrix orthogonal, so that no direction
of it stays behind the others; here with steps of the size of AdamW's (https://arxiv.org/abs/2502.16982), so
that both take the same rate.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from training.net.line_stem import LineStem
from training.net.network import Network, parameter_groups

KINDS = ("adamw", "muon")
_BETAS = (0.9, 0.99)


def matrices(net: Network) -> list[Tensor]:
    """Return the weights that multiply features by a matrix and make features.

    Not those that read planes or digits, that act on each channel alone, or behind which there are moves or
    results: these are AdamW's.
    """
    found: list[Tensor] = [net.value_in.weight, net.value_hidden.weight]
    if isinstance(net.stem, LineStem):
        found += [net.stem.side_out.weight, net.stem.middle.weight, net.stem.out.weight]
    for block in net.residual:
        found += [layer.conv.weight for layer in (block.first, block.second) if layer.conv.groups == 1]
        if block.pool is not None:
            found.append(block.pool.weight)
    return found


def _as_matrix(tensor: Tensor, weight: Tensor) -> Tensor:
    """Return a weight, or its gradient, as a matrix of a row for each output.

    The columns are in the order in which the weight has them in memory, whatever its `memory_format`.
    """
    if weight.ndim == 4 and not weight.is_contiguous():
        tensor = tensor.permute(0, 2, 3, 1)
    return tensor.reshape(len(tensor), -1)


class MuonAndAdamW:
    """Muon for `matrices`, AdamW for all other weights, as one optimizer.

    Args:
        net: whose weights are changed; they have to stay where they are in memory.
        lr, weight_decay: as of AdamW.
    """

    def __init__(self, net: Network, lr: float, weight_decay: float) -> None:
        self._matrices = matrices(net)
        chosen = {id(p) for p in self._matrices}
        groups = parameter_groups(net, weight_decay)
        for group in groups:
            group["params"] = [p for p in _tensors(group) if id(p) not in chosen]
        self.adamw = torch.optim.AdamW(groups, lr=lr, betas=_BETAS, fused=True)
        # Muon takes matrices only: these share the memory of the weights.
        self._views = [nn.Parameter(_as_matrix(p.detach(), p), requires_grad=False) for p in self._matrices]
        for view, p in zip(self._views, self._matrices, strict=True):
            if view.data_ptr() != p.data_ptr():
                raise ValueError(f"weights of shape {tuple(p.shape)} do not lie in memory as a matrix")
        self.muon = torch.optim.Muon(
            self._views, lr=lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"
        )

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Groups of both, to set the rate in."""
        return [*self.adamw.param_groups, *self.muon.param_groups]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; as of `torch.optim.Optimizer`."""
        self.adamw.zero_grad(set_to_none)
        for p in self._matrices:
            p.grad = None

    def step(self) -> None:
        """Take a step along the gradients that the weights have."""
        for view, p in zip(self._views, self._matrices, strict=True):
            view.grad = None if p.grad is None else _as_matrix(p.grad, p)
        self.adamw.step()
        self.muon.step()  # type: ignore[no-untyped-call]

    def state_dict(self) -> dict[str, Any]:
        """Return what both keep."""
        return {"adamw": self.adamw.state_dict(), "muon": self.muon.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        self.adamw.load_state_dict(state["adamw"])
        self.muon.load_state_dict(state["muon"])


def _tensors(group: dict[str, object]) -> list[Tensor]:
    tensors = group["params"]
    assert isinstance(tensors, list)
    return tensors


Optimizer = torch.optim.Optimizer | MuonAndAdamW


def make_optimizer(kind: str, net: Network, lr: float, weight_decay: float) -> Optimizer:
    """Return the optimizer of one of `KINDS`."""
    if kind == "muon":
        return MuonAndAdamW(net, lr, weight_decay)
    return torch.optim.AdamW(parameter_groups(net, weight_decay), lr=lr, betas=_BETAS, fused=True)


def kind_of(state: dict[str, Any]) -> str:
    """Return which of `KINDS` wrote this `state_dict`."""
    return "muon" if "muon" in state else "adamw"
