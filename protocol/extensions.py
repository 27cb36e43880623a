"""The commands that Yixin-Board and AlphaGomoku's protocol add to Gomocup's, from text to values. Pure.

What they mean stands in https://github.com/accreator/Yixin-protocol, in the source of Yixin-Board
(https://github.com/accreator/Yixin-Board, fork https://github.com/dhbloo/Yixin-Board) and in
https://github.com/MaciejKozarzewski/AlphaGomoku/tree/master/doc/protocols.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from protocol.blocks import parse_board, parse_number, parse_pairs, parse_swap2
from protocol.commands import (
    Balance,
    Block,
    BlockReset,
    Command,
    ForbidBoard,
    HashClear,
    Ignored,
    Invalid,
    NBest,
    Ponder,
    ProtocolVersion,
    ShowForbid,
    ShowInfo,
    Soosorv,
    Stop,
    YixinSwap2,
)

_NO_DATABASE = "this engine has no database"
_NO_FILE = "this engine keeps what it searched in memory only"

_PLAIN: dict[str, Callable[[], Command]] = {
    "YXSTOP": Stop,
    "YXSHOWFORBID": ShowForbid,
    "YXSHOWINFO": ShowInfo,
    "YXHASHCLEAR": HashClear,
    "YXSEARCHDEFEND": lambda: NBest(None),
    "YXSWAP2STEP1": lambda: YixinSwap2(1),
    "YXSWAP2STEP2": lambda: YixinSwap2(2),
    "YXSWAP2STEP3": lambda: YixinSwap2(3),
    "YXSOOSORVSTEP1": lambda: Soosorv(1),
    "YXBLOCKRESET": lambda: BlockReset(path=False),
    "YXBLOCKPATHRESET": lambda: BlockReset(path=True),
    "CLEARHASH": HashClear,
    "PROTOCOLVERSION": ProtocolVersion,
}
_REMARKS = {
    "YXDRAW": "DRAW REJECT",
    "YXRESIGN": "RESIGN ACCEPT",
    "YXPRINTFEATURE": "plays freestyle, standard and renju on boards of 5 to 22 cells a side; swap2, "
    "soosorv, n best moves, balance, blocked moves; no database, no hash files",
    "YXSHOWHASHUSAGE": "the tree grows up to the hash size",
    "YXFORBID": "points cannot be forbidden by hand; use block",
    "YXSAVEDATABASE": _NO_DATABASE,
    "YXDBCHECK": _NO_DATABASE,
    "YXDBFIX": _NO_DATABASE,
}
"""Commands of one line that expect nothing but a word to the person who typed them (protocol)."""
_REMARKS_WITH_A_LINE = {
    "YXHASHDUMP": _NO_FILE,
    "YXHASHLOAD": _NO_FILE,
    **dict.fromkeys(
        (
            "YXSETDATABASE", "YXDBTOPOS", "YXDBTOTXT", "YXDBTOTXTALL", "YXTXTTODB", "YXLIBTODB", "YXDBTOLIB",
            "YXDBSPLIT", "YXDBMERGE",
        ),
        _NO_DATABASE,
    ),
}
"""The same with one more line, a path (protocol)."""
_REMARKS_WITH_A_BLOCK = {
    **dict.fromkeys(  # sent after every move, not by a person
        ("YXQUERYDATABASEALL", "YXQUERYDATABASEALLT", "YXQUERYDATABASETEXT"), ""
    ),
    **dict.fromkeys(
        (
            "YXQUERYDATABASEONE", "YXEDITTVDDATABASE", "YXEDITTEXTDATABASE", "YXEDITLABELDATABASE",
            "YXDELETEDATABASEONE", "YXDELETEDATABASEALL", "YXSETBESTMOVEDATABASE",
            "YXCLEARBESTMOVEDATABASE",
        ),
        _NO_DATABASE,
    ),
}
"""The same with lines up to DONE (protocol)."""
_REFUSED = re.compile(
    r"SWAP1STBOARD|SWAP5STEP[1-3]|(LONG)?PROBOARD|(RIF|YAMAGUCHI)STEP[1-5]|SOOSYRVSTEP[1-6]|"
    r"TARAGUCHISTEP[1-4]|SAKATASTEP[1-3]|(TARANNIKOV|LIANHUAN)STEP[12]",
    re.ASCII,
)
"""Questions of AlphaGomoku's document, all with a block, about openings that are not played here."""
_LINE_AFTER_DONE = frozenset({"RIFSTEP5", "YAMAGUCHISTEP5"})

_Closer = Callable[[str, str, list[str]], Command]
"""From the command word, what followed it, and the lines of the block to a command."""


def _block(word: str, _: str, lines: list[str]) -> Command:
    return Block(parse_pairs(word, lines)[0], path="PATH" in word, undo=word.endswith("UNDO"))


def _soosorv(word: str, rest: str, lines: list[str]) -> Command:
    stones, fault = parse_pairs(word, lines)
    step, number = int(word[-1]), parse_number(rest)
    if step in (4, 5) and (number is None or number < 1):
        fault = fault or f"{word} needs a number of fifth moves"
    return Soosorv(step, number or 0, stones, fault)


def _balance(word: str, rest: str, lines: list[str]) -> Command:
    count = parse_number(rest)
    if count is None or not 1 <= count <= 2:
        return Invalid(word, "BALANCE needs 1 or 2, the number of stones")
    return Balance(count, board=parse_board(lines))


_BLOCKS: dict[str, _Closer] = {
    **dict.fromkeys(("YXBLOCK", "YXBLOCKUNDO", "YXBLOCKPATH", "YXBLOCKPATHUNDO"), _block),
    **dict.fromkeys((f"YXSOOSORVSTEP{step}" for step in range(2, 7)), _soosorv),
    "BALANCE": _balance,
    "SHOWFORBID": lambda word, rest, lines: ForbidBoard(parse_board(lines)),
    "SWAPBOARD": lambda word, rest, lines: parse_swap2(lines, word),
}


def takes_a_line(word: str) -> bool:
    """Return whether the line after this command belongs to it."""
    return word in _REMARKS_WITH_A_LINE


def takes_a_block(word: str) -> bool:
    """Return whether the lines after this command up to DONE belong to it."""
    return word in _BLOCKS or word in _REMARKS_WITH_A_BLOCK or _REFUSED.fullmatch(word) is not None


def has_a_tail(word: str) -> bool:
    """Return whether one more line of points may follow the end of its block, which may be a lone PLAY."""
    return word in _LINE_AFTER_DONE


def close_line(word: str) -> Command:
    """Return the command that takes a line, which nobody needs."""
    return Ignored(word, _REMARKS_WITH_A_LINE[word])


def close_block(word: str, rest: str, lines: list[str]) -> Command:
    """Return the command that takes a block.

    Args:
        word: in upper case.
        rest: what follows it in its line.
        lines: between that line and DONE.
    """
    if word in _BLOCKS:
        return _BLOCKS[word](word, rest, lines)
    if word in _REMARKS_WITH_A_BLOCK:
        return Ignored(word, _REMARKS_WITH_A_BLOCK[word])
    return Invalid(word, f"{word} is not supported")


def parse_extension(word: str, rest: str) -> Command | None:
    """Return the command of one line that begins with `word` (upper case), None if it is none of these."""
    if word in _PLAIN:
        return _PLAIN[word]()
    if word in _REMARKS:
        return Ignored(word, _REMARKS[word])
    number = parse_number(rest)
    if word == "YXNBEST":
        return NBest(number) if number is not None and number > 0 else Invalid(
            word, "YXNBEST needs a number of moves"
        )
    if word in ("YXBALANCEONE", "YXBALANCETWO"):
        if number is None and rest:
            return Invalid(word, f"{word} needs a number, how far to be ahead")
        return Balance(1 if word == "YXBALANCEONE" else 2, number or 0)
    if word == "PONDER":
        if number is None and rest:
            return Invalid(word, "PONDER needs a number of ms, or none")
        return Ponder(number if number is not None and number >= 0 else None)
    return None
