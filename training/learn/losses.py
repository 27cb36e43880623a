"""Losses of the learner. All cross entropies take logits.

Shapes: `B` batch, `A` = H * W points.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.planes import Plane
from training.net.network import Heads
from training.settings.schema import LossConfig

_OFF = -1e9  # logit of a point that may not be played


@dataclass(frozen=True, slots=True)
class Targets:
    """Tensors of `training.data.dataset.Batch`, on the device of the net.

    `z` and `root_wdl` are rows of 0 for positions that were not played; these have no value of their own.
    """

    policy: Tensor
    reply: Tensor
    z: Tensor
    root_wdl: Tensor


def playable(planes: Tensor) -> tuple[Tensor, Tensor]:
    """Return bool [B, A]: where the side to move, and where its opponent, may play by these planes.

    Black's forbidden points are off for black; the opponent's are not known before the move.
    """
    p = planes.flatten(2)
    free = (p[:, Plane.USABLE] > 0) & (p[:, Plane.OWN_STONE] + p[:, Plane.OTHER_STONE] == 0)
    return free & ~((p[:, Plane.BLACK_FORBIDDEN] > 0) & (p[:, Plane.OWN_IS_BLACK] > 0)), free


def log_policy(logits: Tensor, allowed: Tensor) -> Tensor:
    """Return the log probabilities [B, A] of logits [B, A] over the points that may be played."""
    return F.log_softmax(logits.float().masked_fill(~allowed, _OFF), dim=1)


def policy_cross_entropy(logits: Tensor, target: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross entropy over rows that have a target, and their number.

    Args:
        logits: [B, A].
        target: [B, A] not negative; rows are normalised after points that may not be played are taken out,
            rows of 0 do not count.
        allowed: bool [B, A].
    """
    return _cross_entropy(log_policy(logits, allowed), target, allowed)


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    return (values * weights).sum() / weights.sum().clamp_min(1)


def _variance(values: Tensor, weights: Tensor) -> Tensor:
    return _mean((values - _mean(values, weights)).square(), weights)


def _cross_entropy(log_p: Tensor, target: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    target = target * allowed
    total = target.sum(1, keepdim=True)
    target = target / total.clamp_min(1e-9)
    rows = (total[:, 0] > 0).float()
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
    heads: Heads,
    planes: Tensor,
    targets: Targets,
    config: LossConfig,
    taught: Heads | None = None,
    share: float = 0.0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss to minimise and its parts as detached scalars.

    The loss is L = policy + value weight * value + reply weight * reply + soft weight * soft, each a cross
    entropy of a head with its target. With a teacher it is (1 - share) L + share L', where in L' the targets
    are what the teacher says instead: the softmax of its same head (policy, reply and soft over the points
    that may be played, and for every position, whether or not a search made a target for it; win, draw and
    loss in place of result and searched value). As cross entropies are linear in their targets, these two
    are the loss against the mixed targets (1 - share) target + share teacher.

    Args:
        heads: of the net in training.
        planes: [B, C, H, W] of the positions.
        targets: of the records.
        config: weights of the parts.
        taught: what a teacher says of the same planes, without gradient.
        share: of the teacher.

    Parts, always of the records: `policy` cross entropy, `policy_kl` (that minus the target's entropy),
    `target_entropy`, `entropy` of the net's policy, `top1` (share of positions whose best point is the
    target's), `value` cross entropy, `value_mse` of win - loss against the result, `explained_variance`,
    `reply`, `soft`. With a teacher also `teacher_loss`, which is L', and `teacher_kl`, KL(teacher || net) of
    the policy.
    """
    allowed, free = playable(planes)
    log_p, log_soft = log_policy(heads.policy, allowed), log_policy(heads.soft, allowed)
    log_reply, log_wdl = log_policy(heads.reply, free), F.log_softmax(heads.wdl, dim=1)
    policy, _ = _cross_entropy(log_p, targets.policy, allowed)
    reply, _ = _cross_entropy(log_reply, targets.reply, free)
    soft, _ = _cross_entropy(log_soft, targets.policy.pow(config.soft_power), allowed)
    value_target = (1 - config.root_mix) * targets.z + config.root_mix * sharpened(
        targets.root_wdl, config.root_power
    )
    known = value_target.sum(1)  # 1, or 0 for a position that was not played
    value = -_mean((value_target * log_wdl).sum(1), known)
    loss = policy + config.value * value + config.reply * reply + config.soft * soft
    parts = {"policy": policy, "value": value, "reply": reply, "soft": soft}
    if taught is not None:
        teacher = log_policy(taught.policy, allowed)
        followed = _cross_entropy(log_p, teacher.exp(), allowed)[0]
        parts["teacher_kl"] = followed + (teacher.exp() * teacher).sum(1).mean()
        followed = followed - config.value * (torch.softmax(taught.wdl, 1) * log_wdl).sum(1).mean()
        for weight, logits, mine, where in (
            (config.reply, taught.reply, log_reply, free),
            (config.soft, taught.soft, log_soft, allowed),
        ):
            followed = followed + weight * _cross_entropy(mine, log_policy(logits, where).exp(), where)[0]
        parts["teacher_loss"] = followed
        loss = (1 - share) * loss + share * followed
    parts["loss"] = loss
    with torch.no_grad():
        rows = targets.policy.sum(1) > 0  # multiplied, not picked: a GPU need not say how many there are
        count = rows.sum().clamp_min(1)
        parts["entropy"] = -((log_p.exp() * log_p).sum(1) * rows).sum() / count
        parts["target_entropy"] = (
            -(torch.special.xlogy(targets.policy, targets.policy).sum(1) * rows).sum() / count
        )
        parts["policy_kl"] = policy - parts["target_entropy"]
        hit = (log_p.argmax(1) == targets.policy.argmax(1)) & rows
        parts["top1"] = hit.sum() / count
        wdl = log_wdl.exp()
        utility, result = wdl[:, 0] - wdl[:, 2], targets.z[:, 0] - targets.z[:, 2]
        parts["value_mse"] = _mean((utility - result).square(), known)
        variance, left = _variance(result, known), _variance(result - utility, known)
        parts["explained_variance"] = torch.where(variance > 1e-6, 1 - left / variance.clamp_min(1e-6), 0.0)
    return loss, {name: value.detach() for name, value in parts.items()}
