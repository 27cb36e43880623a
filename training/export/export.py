"""Exports a net: fp32 and int8 ONNX files with metadata, checked against torch, and a card.

A line net has one file, fp32: the engine's kernel computes it with tables of 16-bit numbers that it makes
from the weights in there, and with products of 8 bits that are next to them. These are left out, and the
kernel takes 16, where 8 would change the net by more than is allowed. So is the permission to judge only the
cells around the stones one by one (`MARGIN`).

Nothing is left behind unless all of it is right: files are written under temporary names, run by the engine's
own evaluator, compared, and only then renamed.

Shapes: `B` batch, `C` planes, `H` `W` board, `A` = H * W.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from engine.encoding import FEATURE_VERSION
from engine.evaluator.base import Evaluator
from engine.evaluator.check import canary_batches, check_evaluator
from engine.evaluator.lines import KIND as LINES
from engine.evaluator.lines import LineEvaluator
from engine.evaluator.make import TOWER
from engine.evaluator.onnx import NET_FORMAT, OnnxEvaluator
from training.export.card import Origin, card_text
from training.export.graph import build
from training.export.quantise import calibrate, calibrate_lines, usual_pool
from training.files.atomic import naming, replacing, write_atomically
from training.net.network import Network

Planes = npt.NDArray[np.float32]

MARGIN = 3
"""Cells around the stones that the kernel judges one by one (tuned: training/record/shapes.md)."""


class ExportError(RuntimeError):
    """An export was refused; the message says which comparison failed and by how much."""


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Largest differences that an export may show.

    Attributes:
        fp32_logit: of any policy logit between torch and the fp32 file.
        fp32_wdl: of any chance between torch and the fp32 file.
        int8_policy_kl: mean over positions of KL(fp32 || int8) in nats. For a line net, here and below, the
            kernel takes the place of int8.
        int8_utility: mean over positions of |win - loss| shift between fp32 and int8.
        int8_utility_worst: the largest such shift of one position.
        window_policy_kl, window_utility: as the first two of int8, between all of the board and a window
            around the stones, both in the kernel.
    """

    fp32_logit: float = 2e-3
    fp32_wdl: float = 2e-4
    int8_policy_kl: float = 0.03
    int8_utility: float = 0.03
    int8_utility_worst: float = 0.35
    window_policy_kl: float = 0.02
    window_utility: float = 0.05


@dataclass(frozen=True, slots=True)
class Exported:
    """Paths of an export and the differences that were measured (names as in `Tolerances`).

    A line net has no int8 file.
    """

    fp32: Path
    int8: Path | None
    card: Path
    net_id: str
    differences: dict[str, float]

    @property
    def fastest(self) -> Path:
        """The file to play with on a CPU."""
        return self.int8 or self.fp32


def weights_digest(model: Network) -> str:
    """Return eight hex digits that name the weights."""
    digest = hashlib.blake2b(digest_size=4)
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.float().cpu().numpy().tobytes())
    return digest.hexdigest()


def export_net(
    model: Network,
    folder: Path | str,
    name: str,
    *,
    calibration: Sequence[Planes],
    origin: Origin | None = None,
    tolerances: Tolerances | None = None,
) -> Exported:
    """Write `name`.fp32.onnx, `name`.int8.onnx and `name`.md into a folder, or nothing.

    Args:
        model: the net (usually the averaged one); it is read, not changed.
        folder: made when missing.
        name: of the files; the net id is this and a digest of the weights.
        calibration: planes [B, C, H, W] of real positions, one array a board size; the first three quarters
            calibrate, the others and the engine's canaries are compared.
        origin: for metadata and card.
        tolerances: see `Tolerances`.

    Raises:
        ExportError: a file does not compute what the net computes.
        OSError: disk full.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    origin, tolerances = origin or Origin(), tolerances or Tolerances()
    if not origin.created:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        origin = replace(origin, created=today)
    model = _on_cpu(model)
    net_id = f"{name}-{weights_digest(model)}"
    cut = max(1, len(calibration) * 3 // 4)
    fit, held = list(calibration[:cut]), list(calibration[cut:]) or list(calibration[-1:])
    lines = model.config.traits.kernel
    quantisation = calibrate(model, fit) if model.config.traits.int8 else None
    levels = calibrate_lines(model, fit) if lines else None
    usual = usual_pool(model, fit) if lines and not model.config.margin else None
    margin = model.config.margin or (MARGIN if lines else 0)
    precisions = ("fp32",) if quantisation is None else ("fp32", "int8")
    paths = {p: folder / f"{name}.{p}.onnx" for p in precisions}
    with contextlib.ExitStack() as stack:
        temporary = {p: stack.enter_context(replacing(path)) for p, path in paths.items()}

        def write() -> dict[str, float]:
            for precision, path in temporary.items():
                metadata = _metadata(model, net_id, precision, margin, origin)
                built = build(model, metadata, quantisation if precision == "int8" else None, levels, usual)
                with naming(paths[precision]):
                    path.write_bytes(built.SerializeToString())
            return compare(model, temporary["fp32"], temporary.get("int8"), held)

        differences = write()
        if "window_utility" in differences and _excesses(differences, tolerances, "window"):
            margin = 0  # nor does every net bear a window
            differences = write()
        if levels is not None and _excesses(differences, tolerances):
            levels = None  # some nets do not bear 8 bits; 16 are there for these
            differences = write()
        excesses = _excesses(differences, tolerances)
        if excesses:
            raise ExportError("export refused: " + "; ".join(excesses))
    card = folder / f"{name}.md"
    bits = 16 if levels is None else 8
    write_atomically(card, card_text(model, name, net_id, origin, differences, bits, margin).encode())
    return Exported(paths["fp32"], paths.get("int8"), card, net_id, differences)


def _on_cpu(model: Network) -> Network:
    copy = Network(model.config)
    copy.load_state_dict({k: v.detach().float().cpu() for k, v in model.state_dict().items()})
    return copy.eval()


def _metadata(model: Network, net_id: str, precision: str, margin: int, origin: Origin) -> dict[str, str]:
    metadata = {
        "tengen_format": NET_FORMAT,
        "feature_version": str(FEATURE_VERSION),
        "net_id": net_id,
        "precision": precision,
        "kind": LINES if model.config.traits.kernel else TOWER,  # what runs it
        "blocks": str(model.config.blocks),
        "channels": str(model.config.channels),
        "pooled": str(model.config.pooled),
        "rules": ",".join(str(r) for r in origin.rules),
        "sizes": f"{origin.sizes[0]}-{origin.sizes[1]}",
        "training_steps": str(origin.training_steps),
        "games": str(origin.games),
        "created": origin.created,
        "description": origin.description,
    }
    if model.config.margin:
        metadata["beyond"] = "off"
    return metadata | {"margin": str(margin)} if margin else metadata


def compare(model: Network, fp32: Path, int8: Path | None, positions: Sequence[Planes]) -> dict[str, float]:
    """Return the differences between torch, fp32 file and int8 file (names as in `Tolerances`).

    Of a line net the fp32 file is compared as the kernel computes it, all of each board, in place of an int8
    file; and where the file permits a window, the kernel without it is compared to the kernel with it. A line
    tower has neither, and so no difference of that name.

    The fp32 file is compared on canaries and positions; the int8 file on the positions, since ranges that fit
    real play say nothing about random stones.

    Raises:
        engine.errors.NetError: a file cannot be run or gives nonsense.
    """
    one = OnnxEvaluator(fp32)
    other: Evaluator | None = None if int8 is None else OnnxEvaluator(int8)
    window: LineEvaluator | None = None
    if model.config.traits.kernel:
        other, window = LineEvaluator(OnnxEvaluator(fp32), margin=0), LineEvaluator(OnnxEvaluator(fp32))
    for evaluator in (one, other) if other else (one,):
        check_evaluator(evaluator)
    logit = wdl = 0.0
    for planes in [*(batch for batch, _ in canary_batches()), *positions]:
        keys = np.zeros(len(planes), np.uint64)
        policy, chances = (a.copy() for a in one.evaluate(planes, keys))
        with torch.inference_mode():
            heads = model(torch.from_numpy(planes))
        logit = max(logit, float(np.abs(heads.policy.numpy() - policy).max()))
        wdl = max(wdl, float(np.abs(torch.softmax(heads.wdl, 1).numpy() - chances).max()))
    differences = {"fp32_logit": logit, "fp32_wdl": wdl}
    if other is None:
        return differences
    kl, utility, worst = _apart(one, other, positions)
    differences |= {"int8_policy_kl": kl, "int8_utility": utility, "int8_utility_worst": worst}
    if window is not None and window.line_net.margin and not window.line_net.closed:
        differences["window_policy_kl"], differences["window_utility"], _ = _apart(other, window, positions)
    return differences


def _apart(one: Evaluator, other: Evaluator, positions: Sequence[Planes]) -> tuple[float, float, float]:
    """Return the mean KL of policies, and mean and largest shift of win - loss."""
    divergence: list[Planes] = []
    shift: list[Planes] = []
    for planes in positions:
        keys = np.zeros(len(planes), np.uint64)
        policy, chances = (a.copy() for a in one.evaluate(planes, keys))
        other_policy, other_chances = other.evaluate(planes, keys)
        free = (planes[:, 0] > 0) & (planes[:, 1] + planes[:, 2] == 0)
        p, q = (_log_softmax(np.where(free.reshape(policy.shape), x, -1e9)) for x in (policy, other_policy))
        divergence.append((np.exp(p) * (p - q)).sum(1))
        shift.append(np.abs((chances - other_chances)[:, 0] - (chances - other_chances)[:, 2]))
    shifts = np.concatenate(shift)
    return float(np.concatenate(divergence).mean()), float(shifts.mean()), float(shifts.max())


def _log_softmax(x: Planes) -> Planes:
    x = x - x.max(axis=1, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(axis=1, keepdims=True)))


def _excesses(differences: dict[str, float], tolerances: Tolerances, prefix: str = "") -> list[str]:
    return [
        f"{name} is {value:.2g}, allowed {getattr(tolerances, name):.2g}"
        for name, value in differences.items()
        if name.startswith(prefix) and not value <= getattr(tolerances, name)
    ]
