"""Settings, standings and report of a run."""

from __future__ import annotations

import io
import json
import re

import pytest

from training import selfplay
from training.files.lock import DirectoryLock, LockError
from training.loop import Run
from training.measure import gate
from training.measure.batched_match import MatchScore
from training.play.evaluators import UNIFORM
from training.play.game import Counters
from training.run import nets
from training.run.charts import Curve, curve_chart, ticks
from training.run.display import Display
from training.run.log import RunLog
from training.run.report import make_report
from training.settings.recipes import preset
from training.settings.resolve import make_config, parse_stored, read_stored, store_config
from training.settings.schema import EvaluationConfig, RunConfig
from training.settings.values import ConfigError, to_mapping


def test_presets_and_overrides():
    config = make_config(
        preset("laptop").settings,
        ["play.gumbel.scale=0.2", "sizes=9,15:3,12x10", "rules=4:2,0", "learner.net.pool_block=none",
         "play.endings=true", "minutes=3"],
    )  # fmt: skip
    assert config.play.gumbel.scale == 0.2 and config.play.endings is True and config.minutes == 3.0
    assert config.learner.net.pool_block is None
    assert config.mix().sizes == ((9, 9, 1.0), (15, 15, 3.0), (12, 10, 1.0))
    assert config.mix().rules == ((4, 2.0), (0, 1.0))
    assert make_config(preset("smoke").settings, ["play.simulations=9"]).play.opening.max_stones == 3


def test_help_explains_every_setting(capsys):
    with pytest.raises(SystemExit):
        selfplay.main(["--help"])
    text = capsys.readouterr().out

    shapes = {"line_hidden", "pool_block", "value_channels", "value_hidden"}  # stored, but no settings

    def explained(mapping: dict[str, object], where: str) -> None:
        for name in mapping.keys() - shapes:
            value = mapping[name]
            if isinstance(value, dict):
                explained(value, f"{where}{name}.")
            else:
                section = text.partition(f"\n{where}*: ")[2] if where else text.partition("Everything")[2]
                section = section.partition(".*: ")[0]
                assert re.search(rf"^    [^:]*\b{name}\b[^:]*:", section, re.MULTILINE), where + name

    explained(to_mapping(RunConfig()), "")


@pytest.mark.parametrize(
    "text",
    ["nothing=1", "play.nothing=1", "play.gumbel.scale.x=1", "sizes=9:0", "sizes=x", "rules=3", "rules=16",
     "rules=0:inf", "workers=-1", "learner.rules=3", "learner.rules=0:x", "learner.loss.root_mix=1.5",
     "learner.loss.root_power=0", "learner.loss.root_power=nan", "device=tpu",
     "play.full_share=2", "seed=one", "seed=-1", "learner.fast_weight=-1", "play.opening.max_stones=-1",
     "play.policy_temperature=0", "play.endings=perhaps", "learner.schedule=wild"],
)  # fmt: skip
def test_wrong_settings_are_refused(text):
    with pytest.raises(ConfigError):
        make_config(preset("laptop").settings, [text])


def test_a_message_about_a_long_name_stays_short():
    for name in ("A" * 4000, "play." + "A" * 4000):
        for make in (lambda: make_config({}, [f"{name}=1"]), lambda: make_config({name: 1})):  # noqa: B023
            with pytest.raises(ConfigError) as refused:
                make()
            assert len(str(refused.value)) < 600


def test_settings_are_stored_and_changed_later(tmp_path):
    path = tmp_path / "config.json"
    assert read_stored(path) is None
    config = make_config(preset("smoke").settings, ["seed=7"])
    store_config(path, "smoke", config)
    source, stored = read_stored(path)
    assert source == "smoke" and make_config(stored) == config
    assert make_config(stored, ["minutes=9"]).minutes == 9.0
    assert json.loads(path.read_text())["config"] == json.loads(json.dumps(to_mapping(config)))
    path.write_text("{")
    with pytest.raises(ConfigError):
        read_stored(path)


def test_a_run_of_older_planes_does_not_go_on_but_its_settings_can_be_read(tmp_path):
    path = tmp_path / "config.json"
    store_config(path, "smoke", make_config(preset("smoke").settings))
    table = json.loads(path.read_text())
    path.write_text(json.dumps({**table, "feature_version": 1}))
    with pytest.raises(ConfigError, match=r"started with feature version 1, .*start a new run .*--weights"):
        read_stored(path)
    assert parse_stored(path.read_bytes(), path, older=True) == ("smoke", table["config"])
    for version in (99, True):
        path.write_text(json.dumps({**table, "feature_version": version}))
        for older in (False, True):
            with pytest.raises(ConfigError, match=rf"version {version}, .*start a new run directory$"):
                parse_stored(path.read_bytes(), path, older)


def measured(standings: gate.Standings, name: str, nets: dict[str, str], scores: float) -> list[str]:
    config = EvaluationConfig(pairs=4)
    opponents = []
    for planned in gate.plan(config, standings, name, nets, 1):
        opponents.append(f"{planned.spec.b.name}|{planned.spec.width}")
        pairs = [[scores, scores]] * planned.spec.pairs
        gate.record(standings, planned, MatchScore(pairs=pairs, plies=60, depth={name: 3.0}))
    return opponents


def test_standings_drop_beaten_yardsticks_and_tie_nets_together():
    standings = gate.Standings()
    first = measured(standings, "c000001", {"c000001": "c000001.int8.onnx"}, 1.0)
    assert "random|9" in first and "uniform|15" in first and "tactical|15" in first
    standings.best = "c000001"
    nets = {"c000001": "c000001.int8.onnx", "c000002": "c000002.int8.onnx"}
    second = measured(standings, "c000002", nets, 1.0)
    assert "c000001|15" in second and "random|9" in second
    nets["c000003"] = "c000003.int8.onnx"
    standings.best = "c000002"
    third = measured(standings, "c000003", nets, 0.5)
    assert third == ["c000002|15", "c000001|15"], "two clean sweeps end a yardstick"
    elo = standings.ratings()
    assert elo["uniform"] == (0.0, 0.0)
    assert elo["c000002"][0] > elo["c000001"][0] + 50 > 100


def test_log_display_and_report(tmp_path):
    log = RunLog(tmp_path)
    log.event("start", cycle=0)
    for cycle in (1, 2, 3):
        log.event("play", cycle=cycle, games=10, positions_per_s=100.0 * cycle, evaluated_share=0.8)
        log.event(
            "learn", cycle=cycle, loss=3.0 / cycle, policy=2.0, value=1.0, lr=1e-3, explained_variance=0.1
        )
        log.event(
            "match", cycle=cycle, a="c000001", b="random", size=9, rule=0, games=20, score=0.3 * cycle,
            low=0.1, high=0.9, depth={"c000001": 2.0 + cycle},
        )  # fmt: skip
        log.event(
            "ratings", cycle=cycle, net="c000001", promoted=True, best="c000001", elo={"c000001": [5, 3]}
        )
    log.close()
    with open(tmp_path / "log.jsonl", "a") as file:
        file.write('{"event": "lea')  # cut off by a kill
    (tmp_path / "standings.json").write_text(
        json.dumps({"results": {"c000001|uniform": [9, 10]}, "yardsticks": {}, "best": "c000001"})
    )
    (tmp_path / "records").mkdir()
    page = make_report(tmp_path)
    assert page.count("<svg") >= 8 and "c000001" in page and "http" not in page
    assert page.count("no data") <= 8
    stream = io.StringIO()
    display = Display(stream, every_s=0.0)
    display.status(
        stage="self-play", detail="3 games", cycle=2, games=3, positions=90, rate=12.0, metrics={"loss": 1.5},
        elo=33.0, left_s=3700.0,
    )  # fmt: skip
    display.say("promoted")
    assert "1 h 01 min left" in stream.getvalue() and "Elo +33" in stream.getvalue()


def test_charts():
    assert ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(3, 3) == [3]
    chart = curve_chart("a < b", "x", [Curve("one", [(0, 1.0), (1, float("nan")), (2, 3.0)])])
    assert chart.count("<circle") == 2 and "a &lt; b" in chart
    assert "no data" in curve_chart("t", "x", [Curve("one", [])])


def test_defaults_are_the_documented_ones():
    config = RunConfig()
    assert (config.play.simulations, config.play.gumbel.considered, config.play.gumbel.scale) == (32, 16, 0.3)


def stopped_run(tmp_path, **changes: object) -> Run:
    """A run that was opened and does nothing."""
    config = make_config(preset("smoke").settings, [f"{k}={v}" for k, v in changes.items()])
    (tmp_path / "nets").mkdir(exist_ok=True)
    return Run(config, tmp_path, lambda: True, Display(io.StringIO()))


def test_a_directory_belongs_to_one_process(tmp_path):
    held = DirectoryLock(tmp_path / "lock")
    with pytest.raises(LockError, match=tmp_path.name):
        DirectoryLock(tmp_path / "lock")
    assert held


def test_the_best_net_and_the_measured_ones_outlive_old_exports(tmp_path, monkeypatch):
    monkeypatch.setattr(nets, "_KEEP", 2)
    (tmp_path / "nets").mkdir()
    for cycle in range(1, 9):
        (tmp_path / "nets" / f"c{cycle:06d}.fp32.onnx").write_bytes(b"net")
    nets.tidy(tmp_path, {"c000002", "c000003"})
    left = sorted(path.name[:7] for path in (tmp_path / "nets").iterdir())
    assert left == ["c000002", "c000003", "c000007", "c000008"]


@pytest.mark.parametrize(("which", "played"), [("latest", "c000005"), ("best", "c000002")])
def test_self_play_takes_the_net_that_the_settings_name(tmp_path, which, played):
    run = stopped_run(tmp_path, self_play_net=which)
    for name in ("c000002", "c000005"):
        (tmp_path / "nets" / f"{name}.fp32.onnx").write_bytes(b"net")
    run.state.net, run.standings.best = "c000005.fp32.onnx", "c000002"
    assert run._play_net() == str(tmp_path / "nets" / f"{played}.fp32.onnx")


class FakePool:
    """Answers orders with numbers."""

    def __init__(self, score: float = 0.5) -> None:
        self.score, self.wanted = score, []

    def play(self, order, show, stopped):
        self.wanted.append(order.positions)
        return Counters(games=1, moves=order.positions), 1.0, 1.0

    def play_match(self, spec, stopped):
        return MatchScore(pairs=[[self.score, self.score]] * spec.pairs, plies=10)

    def plan(self, order):
        """Nothing begins before it has to."""

    def poll(self):
        """Nobody to look after."""

    def metrics(self):
        return {}


@pytest.mark.parametrize(("score", "best"), [(0.4, "c000001"), (0.9, "c000002")])
def test_a_net_is_promoted_when_it_beats_the_best(tmp_path, score, best):
    run = stopped_run(tmp_path)
    run._stopped = lambda: False
    for cycle in (1, 2):
        (tmp_path / "nets" / f"c{cycle:06d}.fp32.onnx").write_bytes(b"net")
    run.state.net = "c000001.fp32.onnx"
    run._measure(FakePool())
    assert run.standings.best == "c000001", "the first one is the best there is"
    run.state.net = "c000002.fp32.onnx"
    run._measure(FakePool(score))
    assert run.standings.best == best
    assert json.loads((tmp_path / "best.json").read_text())["net"] == best
    assert (tmp_path / "best.fp32.onnx").exists() and run.state.measured == ["c000001", "c000002"]


def test_the_first_cycles_are_short(tmp_path):
    run, pool = stopped_run(tmp_path, cycle_positions=20_000), FakePool()
    for _ in range(5):
        run._cycle(pool)
    assert pool.wanted == [5000, 10_000, 15_000, 20_000, 20_000]


def test_a_net_that_knows_nothing_is_measured_but_does_not_play(tmp_path, monkeypatch):
    run = stopped_run(tmp_path)
    run._stopped = lambda: False

    def export(cycle: int) -> None:
        (tmp_path / "nets" / "c000000.fp32.onnx").write_bytes(b"net")
        run.state.net = "c000000.fp32.onnx"

    monkeypatch.setattr(run, "_export", export)
    run._measure_untrained(FakePool())
    assert run.state.measured == ["c000000"] and run.state.net == UNIFORM
