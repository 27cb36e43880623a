"""Old spellings of settings and of metadata in nets keep working."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from engine import renamed
from engine.config import EngineConfig, load_config
from engine.errors import ConfigError
from engine.evaluator.make import load_net, net_path
from engine.renamed import RENAMED
from engine.search.params import SearchParams
from engine.timing.params import ClockParams

OLD_VALUES = {
    "oversight": "0.25",
    "search.minimax_share": "0.3", "search.choice_minimax_share": "0.4", "search.rival_visits": "0.2",
    "search.value_spread": "0.9", "clock.least_moves_to_go": "8", "clock.stretch": "2.25",
    "clock.least_factor": "0.4", "clock.calm": "0.7", "clock.close": "0.45", "clock.unrest": "0.65",
    "clock.fall": "1.5", "clock.decided": "0.2", "clock.kept_ms": "35",
}  # fmt: skip
"""Spelled out: what release 0.1.0 reads."""


@pytest.fixture(autouse=True)
def _nothing_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renamed, "_reported", set())


def check_values(config: EngineConfig) -> None:
    assert config.blindness == 0.25
    search = {name: float(value) for name, value in config.search.items()}
    assert search == {
        "minimax_weight": 0.3, "final_minimax_weight": 0.4, "lcb_min_visit_ratio": 0.2, "lcb_stdev": 0.9
    }  # fmt: skip
    SearchParams(**search)
    assert config.clock_params() == ClockParams(
        min_moves_to_go=8, max_factor=2.25, min_factor=0.4, base=0.7, closeness=0.45, instability=0.65,
        value_drop=1.5, easy_move=0.2, reserve_ms=35,
    )  # fmt: skip


def test_every_old_name_is_tried_below_and_leads_to_a_setting() -> None:
    assert set(OLD_VALUES) == set(RENAMED)
    known = {f.name for f in dataclasses.fields(EngineConfig)}
    known |= {f"search.{f.name}" for f in dataclasses.fields(SearchParams)}
    known |= {f"clock.{f.name}" for f in dataclasses.fields(ClockParams)}
    assert set(RENAMED.values()) <= known
    assert not set(RENAMED) & known


def test_old_names_work_on_the_command_line() -> None:
    check_values(load_config(None, [f"{key}={value}" for key, value in OLD_VALUES.items()]))


def test_old_names_work_in_a_file(tmp_path: Path) -> None:
    flat, tables = tmp_path / "flat.toml", tmp_path / "tables.toml"
    flat.write_text("".join(f"{key} = {value}\n" for key, value in OLD_VALUES.items()))
    lines = ["oversight = 0.25"]
    for table in ("search", "clock"):
        lines.append(f"[{table}]")
        lines += [f"{k.partition('.')[2]} = {v}" for k, v in OLD_VALUES.items() if k.startswith(f"{table}.")]
    tables.write_text("\n".join(lines))
    check_values(load_config(flat))
    check_values(load_config(tables))


def test_an_old_name_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        load_config(None, ["clock.kept_ms=30", "search.c_puct=1"])
    assert capsys.readouterr().err == (
        "note: clock.kept_ms is called clock.reserve_ms now; 0.3.0 no longer knows the old name\n"
    )


@pytest.mark.parametrize("settings", [["search.rival_visits=0.2", "search.lcb_min_visit_ratio=0.2"],
                                      ["blindness=0.1", "oversight=0.1"]])  # fmt: skip
def test_both_names_at_once_are_refused(settings: list[str]) -> None:
    with pytest.raises(ConfigError, match="is set twice, also by its old name"):
        load_config(None, settings)


def test_a_shipped_net_has_the_metadata_of_release_0_1_0() -> None:
    """Files of nets outlive releases: a key that is renamed has to be read under both names."""
    net = load_net(net_path("default"))
    described = net.describe()
    expected = {"tengen_format", "feature_version", "kind", "net_id", "rules", "sizes", "pooled", "margin"}
    assert expected <= set(described)
    assert described["kind"] == "lines"
