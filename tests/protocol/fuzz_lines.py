"""Random and mutated lines for a brain."""

from __future__ import annotations

import random
from collections.abc import Callable


class Lines:
    """An endless supply of lines, most of them wrong in some way."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._makers: list[tuple[int, Callable[[], list[bytes]]]] = [
            (6, self._turn), (2, self._begin), (3, self._start), (2, self._board), (1, self._swap2),
            (1, self._yxboard), (5, self._takeback), (3, self._play), (14, self._info), (4, self._plain),
            (1, self._nbest), (4, self._extension), (3, self._yixin), (14, self._junk), (30, self._mutant),
            (4, self._blank),
        ]  # fmt: skip
        self._weights = [weight for weight, _ in self._makers]

    def batch(self, count: int) -> list[bytes]:
        """Return at least `count` lines; the last one ends every block."""
        lines: list[bytes] = []
        while len(lines) < count:
            maker = self._rng.choices(self._makers, self._weights)[0][1]
            lines += maker()
        return [line for line in lines if line.strip().upper() != b"END"]

    def _number(self) -> int:
        rng = self._rng
        return rng.choice([rng.randrange(15), rng.randrange(15), rng.randrange(15), rng.randrange(-3, 25)])

    def _pair(self) -> bytes:
        return b"%d,%d" % (self._number(), self._number())

    def _turn(self) -> list[bytes]:
        return [b"TURN " + self._pair()]

    def _begin(self) -> list[bytes]:
        return [b"BEGIN"]

    def _start(self) -> list[bytes]:
        rest = self._rng.choice(
            [
                b"15",
                b"15",
                b"20",
                b"5",
                b"22",
                b"4",
                b"0",
                b"-1",
                b"1000",
                b"abc",
                b"",
                b"15 15",
                b"9,9",
                b"15,0",
            ]
        )
        word = self._rng.choice([b"START ", b"START ", b"RECTSTART ", b"start "])
        return [word + rest]

    def _block(self, word: bytes, row: Callable[[], bytes]) -> list[bytes]:
        rng = self._rng
        rows = [row() for _ in range(rng.choice([0, 0, 1, 2, 3, 5, 8, 13, 40]))]
        rows = [self._mutate(r) if rng.random() < 0.05 else r for r in rows]
        if rng.random() < 0.1:
            rows.insert(
                rng.randint(0, len(rows)), rng.choice([b"INFO time_left 5000", b"ABOUT", b"STOP", b""])
            )
        return [word, *rows, *([b"DONE"] * (rng.random() < 0.93))]

    def _stone(self) -> bytes:
        return self._pair() + b",%d" % self._rng.choice([1, 2, 1, 2, 1, 2, 3, 0, 4])

    def _board(self) -> list[bytes]:
        return self._block(b"BOARD", self._stone)

    def _yxboard(self) -> list[bytes]:
        return self._block(self._rng.choice([b"YXBOARD", b"YXBLOCK"]), self._stone)

    def _swap2(self) -> list[bytes]:
        count = self._rng.choice([0, 3, 3, 5, 1, 4])
        return [b"SWAP2BOARD", *(self._pair() for _ in range(count)), b"DONE"]

    def _takeback(self) -> list[bytes]:
        return [b"TAKEBACK " + self._pair()]

    def _play(self) -> list[bytes]:
        return [b"PLAY " + self._pair()]

    def _nbest(self) -> list[bytes]:
        return [b"YXNBEST " + self._rng.choice([b"1", b"3", b"0", b"x", b""])]

    def _extension(self) -> list[bytes]:
        """A command of AlphaGomoku's protocol or of Yixin's openings and analysis."""
        rng = self._rng
        count = rng.choice([0, 1, 3, 3, 4, 5])
        pairs = [self._pair() for _ in range(count)]
        done = [b"DONE"] * (rng.random() < 0.93)
        return rng.choice(
            [
                lambda: [b"PONDER" + rng.choice([b"", b" 5", b" -1", b" x"])],
                lambda: [rng.choice([b"CLEARHASH", b"PROTOCOLVERSION", b"protocolversion"])],
                lambda: self._block(b"SHOWFORBID", self._stone),
                lambda: self._block(b"BALANCE " + rng.choice([b"1", b"2", b"3", b"x"]), self._stone),
                lambda: [b"SWAPBOARD", *pairs, *done],
                lambda: [rng.choice([b"PROBOARD", b"RIFSTEP4", b"SOOSYRVSTEP6 2"]), *pairs, *done],
                lambda: [b"RIFSTEP5", *pairs, b"DONE", *([b"1,1 2,2"] * rng.randint(0, 1))],
                lambda: [b"YXBALANCE" + rng.choice([b"ONE 0", b"TWO 5", b"ONE", b"TWO x"])],
                lambda: [b"YXSEARCHDEFEND"],
                lambda: [b"YXSWAP2STEP" + rng.choice([b"1", b"2", b"3", b"4"])],
                lambda: [b"YXSOOSORVSTEP1"],
                lambda: [b"YXSOOSORVSTEP%d" % rng.randint(2, 6), *pairs, *done],
                lambda: [b"YXSOOSORVSTEP%d %d" % (rng.choice([4, 5]), rng.randint(0, 9)), *pairs, *done],
            ]
        )()

    def _yixin(self) -> list[bytes]:
        """A command of Yixin-Board that nothing but a remark may follow, or what it sends for a move."""
        rng = self._rng
        kind = rng.randrange(4)
        if kind == 0:
            words = b"YXDRAW YXRESIGN YXPRINTFEATURE YXDBFIX YXDBCHECK YXSHOWHASHUSAGE YXFORBID"
            return [rng.choice([*words.split(), b"YXBLOCKPATHRESET"])]
        if kind == 1:
            words = b"YXHASHDUMP YXHASHLOAD YXSETDATABASE YXDBTOPOS YXDBTOTXT YXTXTTODB"
            return [rng.choice(words.split()), rng.choice([b"C:\\x.dat", b"START 15", b"7,7"])]
        if kind == 2:
            words = b"YXBLOCKUNDO YXBLOCKPATH YXBLOCKPATHUNDO YXSETBESTMOVEDATABASE YXCLEARBESTMOVEDATABASE"
            return self._block(rng.choice(words.split()), self._pair)
        word = rng.choice([b"board", b"yxboard"])
        lines = [b"start 15 15", *self._block(word, self._stone)]
        return lines + [b"yxshowforbid"] * rng.randint(0, 1) + [b"yxstop"] * rng.randint(0, 1)

    def _plain(self) -> list[bytes]:
        words = [
            b"ABOUT",
            b"STOP",
            b"YXSTOP",
            b"RESTART",
            b"YXSHOWFORBID",
            b"YXHASHCLEAR",
            b"DONE",
            b"YXBLOCKRESET",
        ]
        return [self._rng.choice(words)]

    def _info(self) -> list[bytes]:
        rng = self._rng
        key, values = rng.choice(
            [
                (b"timeout_turn", [b"0", b"1", b"2", b"-5", b"x", b""]),
                (b"timeout_match", [b"0", b"1000000", b"-1", b"x"]),
                (b"time_left", [b"0", b"-1", b"20", b"2147483647", b"x", b"99999999999999999999999"]),
                (b"max_memory", [b"0", b"367001600", b"1000", b"-1", b"18446744073709551616"]),
                (b"rule", [b"0", b"1", b"2", b"4", b"6", b"8", b"9", b"15", b"16", b"-1", b"x"]),
                (b"game_type", [b"0", b"1", b"2", b"3", b"7"]),
                (b"folder", [b"C:\\A B\\C", b"/tmp", b"", b"BEGIN"]),
                (b"evaluate", [b"3,3", b""]),
                (b"max_node", [b"1", b"2", b"3"]),
                (b"show_detail", [b"0", b"1", b"2", b"3", b"9"]),
                (b"thread_num", [b"1", b"8", b"0"]),
                (b"hash_size", [b"0", b"1024", b"-1"]),
                (b"nonsense", [b"1", b"TURN 7,7"]),
            ]
        )
        return [b"INFO " + key + b" " + rng.choice(values)]

    def _junk(self) -> list[bytes]:
        rng = self._rng
        if rng.random() < 0.02:
            return [bytes(rng.choices(range(33, 127), k=rng.choice([300, 5000, 20_000])))]
        alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcxyz0123456789,,,   .-+=\"'%$\t\x00\x01\x1b\x7f\x80\xc3\xff"
        return [bytes(rng.choices(alphabet, k=rng.randint(1, 30)))]

    def _blank(self) -> list[bytes]:
        return [self._rng.choice([b"", b" ", b"\t", b"  \t ", b"\x00"])]

    def _mutant(self) -> list[bytes]:
        makers = [self._turn, self._begin, self._start, self._takeback, self._play, self._plain, self._nbest]
        line = self._rng.choice(makers)()[0]
        for _ in range(self._rng.choice([1, 1, 2, 4])):
            line = self._mutate(line)
        return [line]

    def _mutate(self, line: bytes) -> bytes:
        rng = self._rng
        at = rng.randint(0, len(line))
        byte = bytes([rng.choice(b"0123456789,,  .-+ABETURN\t\x00\xff~")])
        return rng.choice(
            [
                line[:at] + byte + line[at:],
                line[:at] + line[at + 1 :],
                line[:at] + byte + line[at + 1 :],
                line[:at],
                line.lower(),
                line + b" " + line,
                b" " + line + b" \t",
                line.replace(b" ", b""),
                line.replace(b",", b" , "),
                line[at:] + line[:at],
            ]
        )
