"""Settings: unknown or wrong ones are named."""

import pytest

from training.settings.schema import LearnerConfig, NetConfig
from training.settings.values import ConfigError, from_mapping, to_mapping


def test_round_trip():
    config = LearnerConfig(net=NetConfig(blocks=6, pool_block=-1), lr=0.5, schedule="constant")
    assert from_mapping(LearnerConfig, to_mapping(config)) == config


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"learning_rate": 1}, "unknown setting 'learning_rate'"),
        ({"net": {"block": 1}}, r"unknown setting 'net\.block'"),
        ({"net": 4}, "net must be a table"),
        ({"batch": 1.5}, "batch must be"),
        ({"bf16": 1}, "unknown setting 'bf16'"),
        ({"batch": True}, "batch must be"),
        ({"schedule": "sometimes"}, "schedule must be constant"),
        ({"reuse": 0}, "out of range"),
    ],
)
def test_bad_settings_are_refused_by_name(mapping, message):
    with pytest.raises(ConfigError, match=message):
        from_mapping(LearnerConfig, mapping)


def test_whole_numbers_do_for_fractions_and_none_for_optional():
    config = from_mapping(LearnerConfig, {"reuse": 4, "net": {"pool_block": None}})
    assert config.reuse == 4.0
    assert isinstance(config.reuse, float)
    assert config.net.pooled == 2
