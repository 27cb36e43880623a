"""The lines between a command and its DONE, and the numbers in a line. Pure."""

from __future__ import annotations

import re

from protocol.commands import Board, Pairs, Stone, Swap2Board

_NUMBER = r"([+-]?[0-9]{1,9})"
ONE = re.compile(rf"{_NUMBER}\Z", re.ASCII)
PAIR = re.compile(rf"{_NUMBER}\s*,\s*{_NUMBER}\Z", re.ASCII)
LOOSE_PAIR = re.compile(rf"{_NUMBER}(?:\s*,\s*|\s+){_NUMBER}\Z", re.ASCII)
_PAIR_AND_MORE = re.compile(rf"{_NUMBER}\s*,\s*{_NUMBER}(?:\s*,\s*(.*))?\Z", re.ASCII | re.DOTALL)


def parse_number(text: str) -> int | None:
    """Return the integer that a text is, None if it is none."""
    match = ONE.match(text)
    return None if match is None else int(match[1])


def parse_board(lines: list[str], *, silent: bool = False) -> Board:
    """Read the lines of a BOARD block. Unreadable lines are left out and the first is named in `fault`."""
    stones, fault = [], None
    for line in lines:
        match = _PAIR_AND_MORE.match(line)
        owner = match[3].strip() if match is not None and match[3] is not None else ""
        if match is not None:
            known = int(owner) if owner in ("1", "2", "3") else None
            stones.append(Stone(int(match[1]), int(match[2]), known))
        if match is None or stones[-1].owner is None:
            fault = fault or f"BOARD lines are x,y,owner, not {line[:40]}"
    return Board(tuple(stones), fault, silent)


def parse_pairs(word: str, lines: list[str]) -> tuple[Pairs, str | None]:
    """Read lines x,y of the block of a command. Unreadable ones are left out.

    Returns:
        the coordinates, and what is wrong with the first unreadable line.
    """
    stones, fault = [], None
    for line in lines:
        pair = PAIR.match(line)
        if pair is None:
            fault = fault or f"{word} lines are x,y, not {line[:40]}"
        else:
            stones.append((int(pair[1]), int(pair[2])))
    return tuple(stones), fault


def parse_swap2(lines: list[str], word: str = "SWAP2BOARD") -> Swap2Board:
    """Read the lines of a SWAP2BOARD or SWAPBOARD block."""
    stones, fault = parse_pairs(word, lines)
    return Swap2Board(stones, fault, word)
