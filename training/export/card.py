"""The card of a net: where it comes from and what is known about it, in Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from engine.encoding import FEATURE_VERSION
from engine.rules.rule import NET_RULES, Rule
from training.net.network import Network


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a net comes from, for metadata and card.

    Attributes:
        training_steps, games, positions: batches taken and data seen.
        description: a sentence for the metadata.
        data: how the games were made.
        strength: what is known about its strength, with the evidence.
        limits: what it should not be used for.
        sizes: smallest and largest board side it was trained on.
        rules: rules it was trained on.
        created: ISO date.
    """

    training_steps: int = 0
    games: int = 0
    positions: int = 0
    description: str = ""
    data: str = "not stated"
    strength: str = "not measured"
    limits: str = "not stated"
    sizes: tuple[int, int] = (5, 22)
    rules: tuple[int, ...] = tuple(int(r) for r in NET_RULES)
    created: str = ""


def card_text(
    model: Network, name: str, net_id: str, origin: Origin, differences: dict[str, float], bits: int = 8,
    margin: int = 0
) -> str:  # fmt: skip
    """Return the card of a net, in Markdown; `bits` and `margin` are those of a line net in the kernel."""
    c, d = model.config, differences
    parameters = sum(p.numel() for p in model.parameters())
    rules = ", ".join(Rule(r).name.lower() for r in origin.rules)
    shape = c.traits.shape.format(blocks=c.blocks, channels=c.channels)
    small = f"fp32 file to kernel, {bits} bits" if c.traits.kernel else "fp32 to int8 file"
    rounded = (
        f"| {small} | policy KL {d['int8_policy_kl']:.4f} nats, win - loss shifts by "
        f"{d['int8_utility']:.4f} on average, {d['int8_utility_worst']:.3f} at worst |\n"
        if "int8_policy_kl" in d
        else ""
    )
    window = (
        f"| all of the board to {margin} cells around stones | policy KL {d['window_policy_kl']:.4f} nats, "
        f"win - loss shifts by {d['window_utility']:.4f} on average |\n"
        if "window_utility" in d
        else ""
    )
    if c.margin:
        shape += f", sees {c.margin} cells around stones"
    return f"""# {name}

{origin.description}

| | |
|---|---|
| id | {net_id} |
| created | {origin.created} |
| shape | {shape}, {parameters:,} parameters in training |
| planes | feature version {FEATURE_VERSION} |
| boards | {origin.sizes[0]} to {origin.sizes[1]} a side |
| rules | {rules} |
| training | {origin.training_steps:,} batches, {origin.games:,} games, {origin.positions:,} positions |
| torch to fp32 file | logits within {d["fp32_logit"]:.1e}, chances within {d["fp32_wdl"]:.1e} |
{rounded}{window}
{paragraphs(origin.data, origin.strength, origin.limits)}"""


def paragraphs(data: str, strength: str, limits: str) -> str:
    """Return the end of a card: what is below its table."""
    return f"""**Data.** {data}

**Strength.** {strength}

**Limits.** {limits}
"""
