"""What the learner minimises. All cross entropies take logits.

Shapes: `B` batch, `A` = H * W points.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from training.net.network import Heads
from training.settings.schema import LossConfig

_OFF = -1e9  # logit of a point that may not be played


@dataclass(frozen=True, slots=True)
class Targets:
    """Tensors of `training.data.window.Batch`, on the device of the net."""

    policy: Tensor
    reply: Tensor
    z: Tensor
    root_wdl: Tensor


def playable(planes: Tensor) -> tuple[Tensor, Tensor]:
    """Return bool [B, A]: where the side to move, and where its opponent, may play by these planes.

    Black's forbidden points are off for black; the opponent's are not known before the move.
    """
    p = planes.flatten(2)
    free = (p[:, 0] > 0) & (p[:, 1] + p[:, 2] == 0)
    return free & ~((p[:, 13] > 0) & (p[:, 14] > 0)), free


def policy_cross_entropy(logits: Tensor, target: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross entropy over rows that have a target, and their number.

    Args:
        logits: [B, A].
        target: [B, A] not negative; rows are normalised after points that may not be played are taken out,
            rows of 0 do not count.
        allowed: bool [B, A].
    """
    target = target * allowed
    total = target.sum(1, keepdim=True)
    target = target / total.clamp_min(1e-9)
    rows = (total[:, 0] > 0).float()
    log_p = F.log_softmax(logits.float().masked_fill(~allowed, _OFF), dim=1)
    entropy = -(target * log_p.clamp_min(_OFF)).sum(1)
    count = rows.sum()
    return (entropy * rows).sum() / count.clamp_min(1), count


def sharpened(wdl: Tensor, power: float) -> Tensor:
    """Return the WDL [B, 3] to a power, each row with sum 1 again."""
    if power == 1:
        return wdl
    raised = wdl.pow(power)
    return raised / raised.sum(1, keepdim=True).clamp_min(1e-9)


def compute(
    heads: Heads, planes: Tensor, targets: Targets, config: LossConfig
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss to minimise and its parts as detached scalars.

    Parts: `policy` cross entropy, `policy_kl` (that minus the target's entropy), `target_entropy`, `entropy`
    of the net's policy, `top1` (share of positions whose best point is the target's), `value` cross entropy,
    `value_mse` of win - loss against the result, `explained_variance`, `reply`, `soft`.
    """
    allowed, free = playable(planes)
    policy, _ = policy_cross_entropy(heads.policy, targets.policy, allowed)
    reply, _ = policy_cross_entropy(heads.reply, targets.reply, free)
    soft, _ = policy_cross_entropy(heads.soft, targets.policy.pow(config.soft_power), allowed)
    value_target = (1 - config.root_mix) * targets.z + config.root_mix * sharpened(
        targets.root_wdl, config.root_power
    )
    value = -(value_target * F.log_softmax(heads.wdl, dim=1)).sum(1).mean()
    loss = policy + config.value * value + config.reply * reply + config.soft * soft
    with torch.no_grad():
        parts = {"loss": loss, "policy": policy, "value": value, "reply": reply, "soft": soft}
        rows = targets.policy.sum(1) > 0  # multiplied, not picked: a GPU need not say how many there are
        count = rows.sum().clamp_min(1)
        log_p = F.log_softmax(heads.policy.masked_fill(~allowed, _OFF), dim=1)
        parts["entropy"] = -((log_p.exp() * log_p).sum(1) * rows).sum() / count
        parts["target_entropy"] = (
            -(torch.special.xlogy(targets.policy, targets.policy).sum(1) * rows).sum() / count
        )
        parts["policy_kl"] = policy - parts["target_entropy"]
        hit = (log_p.argmax(1) == targets.policy.argmax(1)) & rows
        parts["top1"] = hit.sum() / count
        wdl = torch.softmax(heads.wdl, dim=1)
        utility, result = wdl[:, 0] - wdl[:, 2], targets.z[:, 0] - targets.z[:, 2]
        parts["value_mse"] = (utility - result).square().mean()
        variance = result.var(correction=0)
        left = (result - utility).var(correction=0)
        parts["explained_variance"] = torch.where(variance > 1e-6, 1 - left / variance.clamp_min(1e-6), 0.0)
    return loss, {name: value.detach() for name, value in parts.items()}
