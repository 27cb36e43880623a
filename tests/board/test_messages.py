"""Messages: what is taken, what is refused, that nothing else happens."""

from __future__ import annotations

import json
import random

import pytest

from board.messages import (
    MAX_COMMENT,
    MAX_MESSAGE_BYTES,
    Analyse,
    Balance,
    MessageError,
    Moves,
    Think,
    parse_request,
    to_line,
)
from tests.board.fuzz import GAME, GOOD, message


@pytest.mark.parametrize("good", GOOD, ids=lambda m: str(m["type"]))
def test_good_messages_are_taken(good: dict[str, object]) -> None:
    assert parse_request(json.dumps(good)).id == good["id"]


def test_a_request_for_the_engine_survives_its_way_there() -> None:
    moves = Moves(15, 15, 4, (112, 113))
    for request in (
        Think(7, moves, 3, 500, None, 0),
        Think(7, moves, 3, 500, 9000, 20),
        Analyse(8, moves, 5, None),
        Analyse(8, moves, 5, None, 1000),
        Balance(9, moves, 2, 3000),
    ):
        line = to_line(request)
        assert line.endswith(b"\n") and line.count(b"\n") == 1
        assert parse_request(line) == request


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"type": "nonsense"}, "unknown type"),
        ({"type": ["position"]}, "unknown type"),
        ({"id": -1}, "id must be"),
        ({"id": True}, "id must be"),
        ({"extra": 1}, "unknown field 'extra'"),
        ({"swap2": 1}, "swap2 must be true or false"),
        ({"game": None}, "game must be an object"),
        ({"game": {**GAME, "width": 4}}, "width must be a whole number from 5 to 22"),
        ({"game": {**GAME, "height": 23}}, "height must be"),
        ({"game": {**GAME, "rule": 2}}, "rule must be one of"),
        ({"game": {**GAME, "moves": [112, 112]}}, "two moves on one point"),
        ({"game": {**GAME, "moves": [225]}}, "points of the board"),
        ({"game": {**GAME, "moves": [-2]}}, "points of the board"),
        ({"game": {**GAME, "moves": [1.0]}}, "points of the board"),
        ({"game": {**GAME, "moves": [-1] * 451}}, "a list of at most 450"),
        ({"game": {"width": 15}}, "height is missing"),
    ],
)
def test_bad_messages_are_refused_with_their_reason(changes: dict[str, object], why: str) -> None:
    with pytest.raises(MessageError, match=why):
        parse_request(json.dumps({**GOOD[0], **changes}))


@pytest.mark.parametrize(
    ("node", "why"),
    [({"point": 225}, "point must be a whole number from -1 to 224"), ({"point": -2}, "point must be"),
     ({"ms": -1}, "ms must be a time"), ({"ms": float("inf")}, "ms must be"), ({"ms": float("nan")}, "ms"),
     ({"ms": 9e12}, None)],
)  # fmt: skip
def test_nodes_of_a_saved_tree_lie_on_the_board_and_long_thoughts_are_cut(
    node: dict[str, object], why: str | None
) -> None:
    nodes = [{"parent": -1, "point": -1}, {"parent": 0, "point": 7, **node}]
    save = {"type": "save", "id": 1, "kind": "sgf", "game": {**GAME, "moves": []}, "names": ["a", "b"],
            "nodes": nodes}  # fmt: skip
    if why is None:
        assert parse_request(json.dumps(save)).nodes[1].ms == 86_400_000  # type: ignore[union-attr]
        return
    with pytest.raises(MessageError, match=why):
        parse_request(json.dumps(save))


@pytest.mark.parametrize(
    "ended",
    [[], {}, {"why": "draw"}, {"winner": 0, "why": "draw"}, {"winner": 2, "why": "time"},
     {"winner": 3, "why": "time"}, {"winner": 0, "why": []}, {"winner": 0, "why": "time", "node": 1}],
)  # fmt: skip
def test_how_a_game_ended_must_make_sense(ended: object) -> None:
    save = {"type": "save", "id": 1, "kind": "sgf", "game": {**GAME, "moves": []}, "names": ["a", "b"],
            "nodes": [{"parent": -1, "point": -1}]}  # fmt: skip
    good = parse_request(json.dumps({**save, "ended": {"winner": 1, "why": "resign"}}))
    assert good.ended == (1, "resigned")  # type: ignore[union-attr]
    assert parse_request(json.dumps({**save, "ended": None})).ended is None  # type: ignore[union-attr]
    with pytest.raises(MessageError):
        parse_request(json.dumps({**save, "ended": ended}))


@pytest.mark.parametrize("data", ["?", 7, "YQ", "YWFh" * 400_000])
def test_the_content_of_a_file_comes_in_base64(data: object) -> None:
    fields = {"type": "open", "id": 1, "rule": 0}
    assert parse_request(json.dumps({**fields, "data": "gCg7KQ=="})).data == b"\x80(;)"  # type: ignore[union-attr]
    with pytest.raises(MessageError, match="data must be at most 1048576 bytes, written in base64"):
        parse_request(json.dumps({**fields, "data": data}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        "[" * 100_000,
        "9" * 10_000,
        b"\xff\xfe",
        '"' * 3,
        "NaN",
        "x" * (MAX_MESSAGE_BYTES + 1),
    ],
)
def test_what_is_no_object_is_refused(text: str | bytes) -> None:
    with pytest.raises(MessageError):
        parse_request(text)


def test_texts_are_bounded() -> None:
    save = dict(GOOD[-1])
    save["nodes"] = [{"parent": -1, "point": -1, "comment": "x" * (MAX_COMMENT + 1)}]
    with pytest.raises(MessageError, match="comment must be a text"):
        parse_request(json.dumps(save))
    save["nodes"] = [{"parent": -1, "point": -1, "comment": "x" * MAX_COMMENT}] * 200
    with pytest.raises(MessageError, match="comments together"):
        parse_request(json.dumps(save))


def test_nothing_but_a_refusal_comes_of_broken_messages() -> None:
    random_ = random.Random(5)
    refused = 0
    for _ in range(3000):
        try:
            parse_request(message(random_))
        except MessageError:
            refused += 1
    assert refused > 1000
