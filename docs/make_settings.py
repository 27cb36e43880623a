"""Write docs/settings.md from the settings themselves: `python docs/make_settings.py`.

Names, defaults and ranges come from the dataclasses, meanings from the texts under their fields.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import itertools
import re
import typing
from collections.abc import Iterator
from pathlib import Path

from engine import config, renamed
from engine.search import params
from engine.timing.params import ClockParams
from training.settings.field import about, is_setting
from training.settings.schema import RunConfig

PAGE = Path(__file__).with_name("settings.md")
SKIPPED = ("search", "clock")
HUGE = 1_000_000_000
"""Limits from which on a range says nothing to a reader."""
HEAD = """# Settings

This page is made by `python docs/make_settings.py` from [`engine/config.py`](../engine/config.py),
[`engine/search/params.py`](../engine/search/params.py),
[`engine/timing/params.py`](../engine/timing/params.py) and
[`training/settings/schema.py`](../training/settings/schema.py). They also say where each default comes from.

Settings of the engine are read by every program: `--set KEY=VALUE` on the command line, `--config FILE`,
or a file `tengen.toml` next to the packed program:

```toml
net = "D:/nets/mine.onnx"    # a file, or the name of a shipped net
overhead_ms = 250            # a slow or crowded machine
level = 4                    # 1 to 10; leave it out for full strength

[search]
c_puct = 1.2
```

Unknown keys and values out of range are one clear error before the brain answers `OK`. Older spellings are
read until release {removed_in}, reported once and listed in [`engine/renamed.py`](../engine/renamed.py).
"""


def texts_of(kind: type) -> dict[str, str]:
    """Return the text under each field of a class, without what it says about the origin of the default."""
    tree = ast.parse(inspect.getsource(kind))
    body = typing.cast(ast.ClassDef, tree.body[0]).body
    texts = {}
    for field, below in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            text = " ".join(str(ast.literal_eval(below.value)).split())
            text = re.sub(r"\.? \((tuned|derived|protocol|default of)\b.*", ".", text)
            texts[ast.unparse(field.target)] = text
    return texts


def shown(value: object) -> str:
    """Return a default as a user would write it."""
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "-"
    if value is None or value == "":
        return "-"
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def table(kind: type, prefix: str, ranges: dict[str, tuple[float, float]]) -> Iterator[str]:
    """Yield the rows of a table with the settings of an engine's class."""
    yield "| setting | default | range | meaning |\n|---|---|---|---|"
    texts = texts_of(kind)
    for field in dataclasses.fields(kind):
        if field.name not in SKIPPED:
            low, high = ranges.get(field.name, (False, True))
            span = "" if isinstance(low, bool) else f"{low:g} to {high:g}" if high < HUGE else f"from {low:g}"
            span = "" if low < -HUGE else span
            cells = (f"`{prefix}{field.name}`", shown(field.default), span, texts.get(field.name, ""))
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def training_rows(kind: type, prefix: str = "") -> Iterator[str]:
    """Yield a row for each setting of a training run, nested ones too."""
    hints = typing.get_type_hints(kind)
    for field in filter(is_setting, dataclasses.fields(kind)):
        if dataclasses.is_dataclass(hints[field.name]):
            yield from training_rows(hints[field.name], f"{prefix}{field.name}.")
            continue
        known = about(field)
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        cells = (f"`{prefix}{field.name}`", shown(default), known.unit, known.text)
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def page() -> str:
    """Return the text of the page."""
    return "\n".join([
        HEAD.format(removed_in=renamed.REMOVED_IN),
        "## Engine\n", *table(config.EngineConfig, "", config._RANGES), "",
        "## Search\n", *table(params.SearchParams, "search.", params.RANGES), "",
        "## Clock\n", *table(ClockParams, "clock.", {}), "",
        "## Training\n",
        "`python -m training.selfplay --set KEY=VALUE`; `--help` also names the file that reads each one.\n",
        "| setting | default | unit | meaning |\n|---|---|---|---|", *training_rows(RunConfig), "",
    ])  # fmt: skip


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page(), encoding="utf-8")
