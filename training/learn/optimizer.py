"""Optimizers: AdamW for all weights, or Muon for the matrices inside the net.

Muon (https://kellerjordan.github.io/posts/muon/) makes each step of a matrix orthogonal, so that all
directions of it grow alike; here with steps of the size of AdamW's (https://arxiv.org/abs/2502.16982), so
that both take the same rate.
"""

from __future__ import annotations

import math
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


class Muon(torch.optim.Optimizer):
    """Muon as `torch.optim.Muon` has it with `adjust_lr_fn="match_rms_adamw"`, its state too.

    Matrices of one shape take the products of their iteration together: on a GPU each of them costs the
    time to ask for it, whatever its size.
    """

    def __init__(self, matrices: list[nn.Parameter], lr: float, weight_decay: float) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": 0.95})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Take a step along the gradients that the matrices have."""
        for group in self.param_groups:
            shapes: dict[tuple[int, ...], list[Tensor]] = {}
            for p in group["params"]:
                if p.grad is not None:
                    shapes.setdefault(tuple(p.shape), []).append(p)
            for shape, some in shapes.items():
                grads: list[Tensor] = [p.grad for p in some if p.grad is not None]
                for p, grad in zip(some, grads, strict=True):
                    if "momentum_buffer" not in self.state[p]:
                        self.state[p]["momentum_buffer"] = torch.zeros_like(grad)
                buffers = [self.state[p]["momentum_buffer"] for p in some]
                torch._foreach_lerp_(buffers, grads, 1 - group["momentum"])
                ahead = torch._foreach_lerp(grads, buffers, group["momentum"])
                steps = orthogonal(torch.stack(ahead)).to(some[0].dtype).unbind()
                rate = 0.2 * math.sqrt(max(shape)) * group["lr"]
                torch._foreach_mul_(some, 1 - group["lr"] * group["weight_decay"])
                torch._foreach_add_(some, steps, alpha=-rate)


def computes_in(device: torch.device) -> torch.dtype:
    """Return the type that matrices are made orthogonal in: few processors multiply bfloat16 quickly."""
    return torch.float32 if device.type == "cpu" else torch.bfloat16


def orthogonal(matrices: Tensor) -> Tensor:
    """Return for each of matrices [N, R, C] one near its nearest orthogonal one, in `computes_in`.

    Five steps of Newton and Schulz, with the coefficients of Muon.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrices.to(computes_in(matrices.device))
    if tall := x.shape[1] > x.shape[2]:
        x = x.mT
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp_min(1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


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
        self.muon = Muon(self._views, lr=lr, weight_decay=weight_decay)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Groups of both, to set the rate in."""
        return [*self.adamw.param_groups, *self.muon.param_groups]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients; as of `torch.optim.Optimizer`."""
        self.adamw.zero_grad(set_to_none)
        for p in self._matrices:
            p.grad = None

    def step(self) -> None:
        """Take a step along the gradients that the weights have."""
        for view, p in zip(self._views, self._matrices, strict=True):
            view.grad = None if p.grad is None else _as_matrix(p.grad, p)
        self.adamw.step()
        self.muon.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of both."""
        return {"adamw": self.adamw.state_dict(), "muon": self.muon.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what `state_dict` returned."""
        self.adamw.load_state_dict(state["adamw"])
        self.muon.load_state_dict(state["muon"])


def _tensors(group: dict[str, object]) -> list[Tensor]:
    tensors = group["params"]
    assert isinstance(tensors, list)
    return tensors


Optimizer = torch.optim.Optimizer | MuonAndAdamW


def make_optimizer(kind: str, net: Network, lr: float, weight_decay: float) -> Optimizer:
    """Return an optimizer of the weights of a net.

    Args:
        kind: one of `KINDS`.
        lr: learning rate.
        weight_decay: share of a weight that a step removes, times the rate.
    """
    if kind == "muon":
        return MuonAndAdamW(net, lr, weight_decay)
    return torch.optim.AdamW(parameter_groups(net, weight_decay), lr=lr, betas=_BETAS, fused=True)


def kind_of(state: dict[str, Any]) -> str:
    """Return which of `KINDS` wrote this `state_dict`."""
    return "muon" if "muon" in state else "adamw"
