"""Settings: unknown or wrong ones are named."""

import pytest

from training.settings.resolve import make_config
from training.settings.schema import LearnerConfig, NetConfig
from training.settings.values import ConfigError, from_mapping, to_mapping


def test_round_trip():
    net = NetConfig(kind="lines", blocks=6, pool_block=-1, dilations=(1, 2))
    config = LearnerConfig(net=net, lr=0.5, schedule="kl")
    assert from_mapping(LearnerConfig, to_mapping(config)) == config


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"learning_rate": 1}, "unknown setting 'learning_rate'"),
        ({"net": {"block": 1}}, r"unknown setting 'net\.block'"),
        ({"net": 4}, "net must be a table"),
        ({"batch": 1.5}, "batch must be"),
        ({"bf16": 1}, "bf16 must be"),
        ({"batch": True}, "batch must be"),
        ({"schedule": "sometimes"}, "schedule must be constant"),
        ({"reuse": 0}, "out of range"),
        ({"net": {"kind": "lines", "dilations": [1, 5]}}, r"numbers from 1 to 4, not \[1, 5\]"),
        ({"net": {"kind": "lines", "dilations": []}}, r"numbers from 1 to 4, not \[\]"),
        ({"net": {"kind": "lines", "dilations": [1.5]}}, r"net\.dilations must be"),
        ({"net": {"kind": "tower", "dilations": [2]}}, "only line nets have dilations, not a tower"),
    ],
)
def test_bad_settings_are_refused_by_name(mapping, message):
    with pytest.raises(ConfigError, match=message):
        from_mapping(LearnerConfig, mapping)


def test_dilations_begin_again_behind_the_last_one():
    assert NetConfig(kind="lines", blocks=5, dilations=(1, 2)).dilation_of_blocks == (1, 2, 1, 2, 1)
    assert NetConfig(blocks=3).dilation_of_blocks == (1, 1, 1)
    told = make_config({}, ["learner.net.kind=lines", "learner.net.dilations=1,3"])
    assert told.learner.net.dilations == (1, 3)


def test_whole_numbers_do_for_fractions_and_none_for_optional():
    config = from_mapping(LearnerConfig, {"reuse": 4, "net": {"pool_block": None}})
    assert config.reuse == 4.0
    assert isinstance(config.reuse, float)
    assert config.net.pooled == 2
