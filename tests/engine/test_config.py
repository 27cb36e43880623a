import codecs
import dataclasses
import math
from pathlib import Path

import pytest

from engine.config import EngineConfig, load_config
from engine.engine import Engine
from engine.errors import ConfigError, EngineError
from engine.search.params import RANGES, SearchParams


def test_values_come_from_text_and_toml(tmp_path):
    path = tmp_path / "tengen.toml"
    path.write_text('net = "uniform"\noverhead_ms = 80\nsolver = false\n[search]\nc_puct = 1.25\n')
    config = load_config(path, ["overhead_ms=90", "memory_bytes=none", "temperature=0.5", "search.fpu=0.1"])
    assert config.net == "uniform"
    assert config.overhead_ms == 90
    assert config.solver is False
    assert config.memory_bytes is None
    assert config.temperature == 0.5
    assert config.search == {"c_puct": "1.25", "fpu": "0.1"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_net_is_found_beside_the_file_that_names_it(tmp_path, monkeypatch, encoding):
    (tmp_path / "a b").mkdir()
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "a b" / "tengen.toml"
    monkeypatch.chdir(tmp_path / "elsewhere")
    for name in ("mine.onnx", "nets/mine.onnx", "../mine.ONNX"):
        path.write_text(f'net = "{name}"\n', encoding=encoding)
        assert load_config(path).net == str(tmp_path / "a b" / name)
        assert load_config(path, ["net=other.onnx"]).net == "other.onnx"
        monkeypatch.chdir(tmp_path)
        assert load_config("a b/tengen.toml").net == str(Path("a b") / name)
    for name in ("uniform", "mine-4x64", str(tmp_path / "mine.onnx")):
        path.write_text(f"net = '{name}'\n", encoding=encoding)
        assert load_config(path).net == name


def test_a_net_that_lies_in_the_current_folder_alone_is_found_there(tmp_path, monkeypatch):
    path = tmp_path / "tengen.toml"
    path.write_text('net = "runs/mine.onnx"\n')
    here = tmp_path / "here"
    (here / "runs").mkdir(parents=True)
    (here / "runs" / "mine.onnx").touch()
    monkeypatch.chdir(here)
    assert load_config(path).net == "runs/mine.onnx"
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "mine.onnx").touch()
    assert load_config(path).net == str(tmp_path / "runs" / "mine.onnx")


def test_defaults():
    assert load_config() == EngineConfig()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("netz=uniform", "unknown configuration key 'netz'"),
        ("overhead_ms=fast", "overhead_ms needs int"),
        ("overhead_ms=-1", "overhead_ms must be from 0 to 60000, not -1"),
        ("overhead_ms=1.5", "overhead_ms needs int"),
        ("overhead_ms=none", "overhead_ms needs int"),
        ("solver=maybe", "solver needs bool"),
        ("threads=0", "threads must be from 1"),
        ("temperature=11", "from 0 to 10"),
        ("temperature=nan", "from 0 to 10"),
        ("seed=x", "seed needs int or NoneType"),
        ("cache_mib=-1", "cache_mib must be from 0"),
        ("memory_bytes=-1", "memory_bytes must be from 0"),
        ("simulations=-1", "simulations must be from 0"),
        ("temperature_plies=-1", "temperature_plies must be from 0"),
        ("overhead_ms=" + "9" * 400, "overhead_ms must be from 0"),
        ("blindness=inf", "blindness must be from 0 to 1, not inf"),
        ("search=x", "unknown configuration key 'search'"),
        ("verbose", "expected key=value"),
    ],
)
def test_bad_settings_are_refused(setting, message):
    with pytest.raises(ConfigError, match=message):
        load_config(None, [setting])


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"missing\.toml"):
        load_config(tmp_path / "missing.toml")
    bad = tmp_path / "bad.toml"
    bad.write_text("net = \n")
    with pytest.raises(ConfigError, match=r"bad\.toml"):
        load_config(bad)


def test_errors_are_one_family():
    assert issubclass(ConfigError, EngineError) and issubclass(ConfigError, ValueError)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_editors_of_windows_write_what_is_read(tmp_path, encoding, line_end):
    path = tmp_path / "tengen.toml"
    path.write_bytes(f"# Stärke{line_end}level = 3{line_end}".encode(encoding))
    assert load_config(path).level == 3


def test_either_order_of_bytes_is_read(tmp_path):
    path = tmp_path / "tengen.toml"
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        path.write_bytes(mark + "overhead_ms = 250".encode(encoding))
        assert load_config(path).overhead_ms == 250


@pytest.mark.parametrize(
    "content",
    [
        b"level =",
        b"level = 11",
        b"levle = 3",
        b"\xff\xfel",
        b"\xef\xbb\xbflevel = \xff",
        b"l\0e\0v\0",
        b"[level]",
    ],
)
def test_a_broken_file_is_one_error_that_names_it(tmp_path, content):
    path = tmp_path / "tengen.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"tengen\.toml") as refusal:
        load_config(path, ["level=3"])
    assert "\n" not in str(refusal.value)


def test_every_search_parameter_has_a_range_with_its_default_inside():
    assert list(RANGES) == [field.name for field in dataclasses.fields(SearchParams)]
    SearchParams()


@pytest.mark.parametrize("name", RANGES)
def test_no_search_parameter_takes_what_lies_outside_of_its_range(name):
    low, high = RANGES[name]
    kind = type(getattr(SearchParams(), name))
    for inside in (low, high):
        SearchParams(**{name: kind(inside)})
    outside = [low - 1, high + 1] if kind is not float else [low - 1, high + 1, math.nan, math.inf, -math.inf]
    for value in outside:
        with pytest.raises(ConfigError, match=f"{name} must be from .*, not {value}"):
            SearchParams(**{name: value})
    if kind is not float:
        with pytest.raises(ConfigError, match=f"{name} needs {kind.__name__}"):
            SearchParams(**{name: 0.5})


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("search.edge_cap=-1", "search.edge_cap must be from 0 to 484, not -1"),
        ("search.policy_temperature=-1", "search.policy_temperature must be from 0.01 to 100, not -1.0"),
        ("search.policy_temperature=0", "search.policy_temperature must be from 0.01 to 100, not 0.0"),
        ("search.c_puct=nan", "search.c_puct must be from 0 to 100, not nan"),
        ("search.c_puct=much", "search.c_puct needs float, not 'much'"),
        ("search.fpu=0.1", "unknown search parameter search.fpu"),
    ],
)
def test_a_bad_search_parameter_stops_the_engine_before_it_plays(setting, message):
    engine = Engine(load_config(None, ["net=uniform", setting]))
    with pytest.raises(ConfigError, match=message):
        engine.warm_up()


@pytest.mark.parametrize("key", ["", "search.", "clock."])
def test_a_message_about_a_long_name_stays_short(key):
    with pytest.raises(ConfigError) as refused:
        Engine(load_config(None, ["net=uniform", f"{key}{'A' * 4000}=1"])).warm_up()
    assert f"{key}AAAAAA" in str(refused.value) and len(str(refused.value)) < 1000


@pytest.mark.parametrize("value", ["9" * 4000, "-" + "9" * 4000, "x" * 4000])
def test_a_message_about_a_long_value_stays_short(value):
    with pytest.raises(ConfigError) as refused:
        load_config(None, [f"simulations={value}"])
    assert str(refused.value).startswith("simulations ") and len(str(refused.value)) < 120
    with pytest.raises(ConfigError) as refused:
        SearchParams(edge_cap=1 << 20_000)
    assert str(refused.value) == "edge_cap must be from 0 to 484, not a number of thousands of digits"
