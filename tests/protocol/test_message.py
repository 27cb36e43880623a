"""The MESSAGE lines about a search, read as clients of Rapfi and Yixin read them."""

import math
import re
from dataclasses import replace

import pytest

from protocol.format import Notation, best_list, count, evaluation, summary
from tests.helpers.protocol_fakes import Talk, move, result

NUMBER = r"\d+(?:\.\d+)?"
EV = r"[+-]M\d+|-?\d+"
ALPHA_BETA = re.compile(
    rf"MESSAGE depth (?P<depth>\d+)-(?P<sel>\d+) ev (?P<ev>{EV}) n (?P<n>{NUMBER}[KMG]?) n/ms (?P<rate>\d+) "
    r"tm (?P<ms>\d+) pv (?P<pv>[a-v]\d+(?: [a-v]\d+)*)"
)
MCTS = re.compile(
    rf"MESSAGE multipv (?P<rank>\d+) ev (?P<ev>{EV}) w (?P<w>{NUMBER}) d (?P<d>{NUMBER}) stdev {NUMBER} "
    rf"v (?P<v>{NUMBER}[KMG]?) seldepth \d+ n {NUMBER}[KMG]? n/ms \d+ tm \d+ prior {NUMBER} "
    r"pv (?P<pv>[a-v]\d+(?: [a-v]\d+)*)"
)
NAMES = Notation(15, 15)


def winrate(ev: str) -> float:
    """Return the chance of a win that Rapfi means by an evaluation."""
    return 1 / (1 + math.exp(-int(ev) / 200))


@pytest.mark.parametrize("q", [-1.0, -0.97, -0.3, 0.0, 0.004, 0.5, 0.9999, 1.0])
def test_the_evaluation_is_in_the_units_of_rapfi(q: float) -> None:
    assert winrate(evaluation(q, None, None)) == pytest.approx(0.5 + 0.5 * q, abs=0.002)


@pytest.mark.parametrize(
    ("proven", "distance", "text"),
    [("win", 7, "+M7"), ("win", 1, "+M1"), ("loss", 4, "-M4"), ("win", None, "+M1"), ("draw", 9, "0")],
)
def test_a_proven_end_is_a_mate_score(proven: str, distance: int | None, text: str) -> None:
    assert evaluation(0.0, proven, distance) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (9999, "9999"), (10_000, "10.0K"), (1_500_000, "1.50M")]
)
def test_simulations_are_shortened(number: int, text: str) -> None:
    assert count(number) == text


def test_the_last_message_before_the_move_is_what_clients_read() -> None:
    talk = Talk()
    talk.say("START 15\nBEGIN")
    searched = replace(result(112, simulations=12_345), elapsed_s=2.0)
    *_, line, move_line = talk.answer(112, searched)
    found = ALPHA_BETA.fullmatch(line)
    assert move_line == "7,7" and found is not None
    assert found.group("depth", "sel", "n", "rate", "ms", "pv") == ("4", "9", "12.3K", "6", "2000", "h8 i8")
    assert winrate(found["ev"]) == pytest.approx(0.6, abs=0.002)


@pytest.mark.parametrize("changes", [
    {}, {"simulations": 0}, {"simulations": 0, "pv": ()}, {"proven": "loss", "distance": 30},
    {"proven": "win", "distance": 7, "simulations": 0}, {"elapsed_s": 0.0}, {"pv": tuple(range(225))},
    {"simulations": 123_456_789, "elapsed_s": 86_400.0, "pv": tuple(range(224, 0, -1))},
])  # fmt: skip
def test_every_search_is_told_in_that_form(changes: dict[str, object]) -> None:
    lines = summary(replace(result(3), **changes), NAMES)  # type: ignore[arg-type]
    assert ALPHA_BETA.fullmatch(lines[-1]) and all(len(line) <= 240 for line in lines)
    assert not any(ALPHA_BETA.fullmatch(line) for line in lines[:-1])
    assert changes.get("simulations") == 0 or "winrate 60.0 drawrate 20.0" in lines[0]


def test_the_best_moves_are_told_in_the_form_of_a_tree_search() -> None:
    searched = result(5, candidates=(move(5, 60), move(6, 30, "loss"), move(7, 20_000)))
    lines = [MCTS.fullmatch(line) for line in best_list(searched, NAMES, 3)]
    assert [line.group("rank", "ev", "w", "d", "v", "pv") for line in lines if line] == [
        ("1", "102", "62.50", "25.00", "60", "f1"), ("2", "-M5", "62.50", "25.00", "30", "g1"),
        ("3", "102", "62.50", "25.00", "20.0K", "h1"),
    ]  # fmt: skip
