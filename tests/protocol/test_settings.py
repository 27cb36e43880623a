"""INFO keys, the match clock, when the clock of a move starts."""

import pytest

from engine import EngineConfig, Rule
from engine.timing.budget import UNLIMITED_MS, plan
from protocol.settings import UNTOLD_TURN_MS, Settings


def told(*pairs: tuple[str, str], at_s: float = 10.0) -> Settings:
    settings = Settings()
    for key, value in pairs:
        settings.apply(key, value, at_s)
    return settings


def test_nothing_told_gives_a_short_turn() -> None:
    assert told().limits().turn_ms == UNTOLD_TURN_MS
    assert told(("time_left", "2147483647")).limits().turn_ms == UNTOLD_TURN_MS


def test_match_time_alone_means_no_turn_limit() -> None:
    limits = told(("timeout_match", "60000"), ("time_left", "60000")).limits()
    assert limits.turn_ms is None and limits.time_left_ms == 60000


@pytest.mark.parametrize("value", ["", "abc", "1.5", "1_0", "٣", "0x10", "9" * 30])
def test_unreadable_values_change_nothing(value: str) -> None:
    settings = told(("timeout_turn", "7000"))
    before = settings.limits()
    changed = settings.apply("timeout_turn", value, 11.0)
    assert not changed and settings.limits() == before


@pytest.mark.parametrize("value", ["0", "-1", "129", "4294967295", "two", "1.5", ""])
def test_a_wrong_number_of_threads_is_told_and_changes_nothing(value: str) -> None:
    settings = told(("thread_num", "4"))
    assert settings.problem("thread_num", "2") == ""
    assert settings.problem("thread_num", value).startswith("thread_num is 1 to 128")
    settings.apply("thread_num", value, 11.0)
    assert settings.threads == 4


def test_edge_values() -> None:
    assert told(("timeout_turn", "0")).limits().turn_ms == 0
    assert told(("time_left", "60000"), ("time_left", "-50")).limits().time_left_ms == -50
    assert told(("timeout_match", "0")).limits().match_ms is None
    assert told(("max_node", "-1")).limits().max_nodes is None
    assert told(("max_node", "4294967295")).limits().max_nodes is None
    assert told(("max_node", "1000")).limits().max_nodes == 1000
    assert told(("max_depth", "12")).limits().max_depth == 12
    assert told(("time_increment", "500")).limits().increment_ms == 500
    assert told(("max_memory", "0")).memory() == 0
    assert told().memory() is None
    assert told(("max_memory", "4611686018427387904")).memory() == 4611686018427387904


def test_hash_size_is_never_more_than_the_memory_allowed() -> None:
    assert (told(("hash_size", "1024")).memory() or 0) > 1 << 20
    assert told(("hash_size", "99999999"), ("max_memory", "367001600")).memory() == 367001600
    assert told(("hash_size", "0")).memory() is None


@pytest.mark.parametrize(
    ("mask", "dialect", "rule"),
    [("0", "gomocup", Rule.FREESTYLE), ("1", "gomocup", Rule.STANDARD), ("4", "gomocup", Rule.RENJU),
     ("8", "gomocup", Rule.CARO), ("9", "gomocup", Rule.STANDARD_CARO), ("2", "gomocup", Rule.FREESTYLE),
     ("3", "gomocup", Rule.STANDARD), ("10", "gomocup", Rule.CARO), ("5", "gomocup", Rule.RENJU),
     ("2", "yixin", Rule.RENJU), ("6", "yixin", Rule.FREESTYLE), ("1", "yixin", Rule.STANDARD),
     ("-1", "gomocup", Rule.FREESTYLE), ("32", "gomocup", Rule.FREESTYLE),
     ("16", "gomocup", Rule.OMOK), ("17", "yixin", Rule.OMOK)],
)
def test_rule_masks(mask: str, dialect: str, rule: Rule) -> None:
    settings = told(("rule", mask))
    assert settings.rule(dialect) is rule  # type: ignore[arg-type]
    assert settings.continuous(dialect) == (dialect == "gomocup" and mask in ("2", "3", "10"))  # type: ignore[arg-type]


def test_the_own_clock_runs_when_time_left_is_not_told() -> None:
    settings = told(("timeout_match", "100000"))
    assert settings.limits().time_left_ms == 100000
    settings.used(3.0)
    assert settings.limits().time_left_ms == 97000
    settings.new_game(20.0)
    assert settings.limits().time_left_ms == 100000


def test_time_left_is_charged_until_it_is_told_again() -> None:
    settings = told(("time_left", "100000"), ("time_increment", "1000"))
    settings.used(5.0)
    assert settings.limits().time_left_ms == 96000
    settings.apply("time_left", "90000", 20.0)
    assert settings.limits().time_left_ms == 90000


NO_CLOCK = [
    (("timeout_match", match), ("time_left", left)) for match in ("0", "-1") for left in ("0", "-1")
]


@pytest.mark.parametrize(
    "lines",
    [
        *NO_CLOCK,
        *(pair[::-1] for pair in NO_CLOCK),
        *((pair[0],) for pair in NO_CLOCK[::2]),
        *((pair[1],) for pair in NO_CLOCK[:2]),
    ],
)
def test_without_a_match_clock_a_time_left_of_nothing_is_no_limit(lines: tuple[tuple[str, str], ...]) -> None:
    """Several managers say so by timeout_match 0 and time_left 0, in either order, or by one of the two."""
    settings = told(("timeout_turn", "1000"), ("time_increment", "5000"), *lines)
    for _ in range(3):
        limits = settings.limits(2.0)
        assert limits.turn_ms == 1000 and (limits.time_left_ms or UNLIMITED_MS) >= UNLIMITED_MS
        assert plan(limits, 10, 225, 80).hard_s > 0.5
        settings.used(1.0)
    assert told(*lines).limits().turn_ms == UNTOLD_TURN_MS


@pytest.mark.parametrize("left", ["0", "-1", "-50"])
@pytest.mark.parametrize(
    "lines", [(("timeout_match", "60000"),), (("time_left", "60000"),), (*NO_CLOCK[0], ("time_left", "20"))]
)
def test_with_a_match_clock_a_time_left_of_nothing_has_run_out(
    lines: tuple[tuple[str, str], ...], left: str
) -> None:
    settings = told(("timeout_turn", "1000"), *lines, ("time_left", left))
    assert settings.limits().time_left_ms == int(left)
    assert plan(settings.limits(), 10, 225, 80).hard_s < 0.1


def test_a_clock_is_of_one_game() -> None:
    settings = told(("timeout_turn", "1000"), ("time_left", "60000"))
    settings.new_game(20.0)
    settings.apply("time_left", "0", 20.0)
    assert settings.limits().time_left_ms == UNLIMITED_MS
    settings.apply("time_left", "900", 21.0)
    settings.apply("time_left", "0", 22.0)
    assert settings.limits().time_left_ms == 0
    settings.new_game(20.0)
    settings.apply("timeout_match", "60000", 23.0)
    settings.apply("time_left", "0", 23.0)
    assert settings.limits().time_left_ms == 0
    settings.new_game(20.0)
    settings.apply("timeout_match", "0", 24.0)
    assert settings.limits().time_left_ms == UNLIMITED_MS


def test_the_clock_starts_with_the_info_just_before_and_only_once() -> None:
    settings = told(("time_left", "100000"), at_s=10.0)
    assert settings.charged_from_s(10.3) == 10.0
    assert settings.charged_from_s(10.4) == 10.4
    settings.apply("time_left", "1", 20.0)
    assert settings.charged_from_s(29.0) == 29.0  # frozen or typed by hand in between


def test_no_clock_starts_before_the_game_begins() -> None:
    settings = told(("time_left", "100000"), at_s=10.0)
    settings.new_game(10.2)
    assert settings.charged_from_s(10.4) == 10.4
    settings.apply("time_left", "100000", 10.1)  # came while the engine was loading, was read behind START
    assert settings.charged_from_s(10.4) == 10.4
    settings.apply("time_left", "100000", 10.3)
    assert settings.charged_from_s(10.4) == 10.3


KEYS = (
    "timeout_turn", "timeout_match", "time_left", "time_increment", "max_node", "max_depth", "max_memory",
    "hash_size", "rule", "game_type", "show_detail", "pondering",
)  # fmt: skip


@pytest.mark.parametrize("value", ["0", "-1", "9" * 20, "-" + "9" * 20])
@pytest.mark.parametrize("key", KEYS)
def test_no_number_is_too_much_for_what_comes_after(key: str, value: str) -> None:
    settings = Settings()
    settings.apply("timeout_turn", "5000", 0.0)
    settings.apply("time_left", "60000", 0.0)
    settings.apply(key, value, 0.0)
    settings.used(1.0)
    for elapsed_s in (0.0, 10.0):
        budget = plan(settings.limits(elapsed_s), 10, 225, 80)
        assert 0 <= budget.soft_s <= budget.hard_s <= budget.answer_s
    memory = settings.memory()
    assert memory is None or EngineConfig(memory_bytes=memory).memory_bytes == memory
    assert settings.rule("gomocup") in Rule and settings.rule("yixin") in Rule
