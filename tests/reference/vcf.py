"""Slow, exhaustive solver of forced wins on the naive board: try everything, remember positions.

An *attacker* is to move, the other side is the *defender*. A five point of a side is an empty point where
it wins at once. A move is legal on any empty point, except where the rule forbids it.

VCF (victory by continuous fours), attacker to move:
1. With a five point he wins now (1 ply).
2. His move must be legal, give him a five point, and leave the defender none.
3. The defender may then play any legal move after which the attacker has no five point left. If there is
   none he has lost (3 plies: four, anything, five). Otherwise the attacker must win by VCF after each.

VCT adds threats: legal moves that leave the defender no five point and after which the attacker would win
by VCF of at most `threat_fours` fours if the defender passed; unless the defender has five points to
stop, only points that make an open three are looked at. The defender may answer a threat with any legal
move; the attacker must win by VCT after each.
"""

from __future__ import annotations

from engine.rules._board import Board
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from tests.reference.rules import COLOURS, NaiveBoard

NEVER = 10_000  # plies of a win that does not exist
UNLIMITED = NEVER - 1  # plies to look for a win: longer than any game


class ExhaustiveSolver:
    """Answers for one attacker; `board` is as before after every call."""

    def __init__(
        self, board: NaiveBoard, attacker: int, threat_fours: int = 0, node_limit: int = 10**9
    ) -> None:
        self.board, self.attacker, self.defender = board, attacker, 1 - attacker
        self.threat_fours = threat_fours
        self.vcf_memo: dict[str, int] = {}
        self.vct_memo: dict[tuple[str, int], bool] = {}
        self.nodes, self.node_limit = 0, node_limit

    def legal(self, point: int, colour: int) -> bool:
        """Return whether a colour may play on an empty point."""
        return self.board.cells[point] == "." and not self.board.is_forbidden(point, colour)

    def vcf(self) -> int:
        """Return the plies of the shortest VCF of the attacker, to move, until the five stands; or NEVER.

        Raises:
            TimeoutError: if the node limit is passed.
        """
        board = self.board
        if board.points_with(self.attacker, "five"):
            return 1
        key = "".join(board.cells)
        if key not in self.vcf_memo:
            self.vcf_memo[key] = min((self.vcf_after(p) for p in self.fours()), default=NEVER)
        return self.vcf_memo[key]

    def vcf_after(self, four: int) -> int:
        """Return the plies of the shortest VCF that begins with a move of `fours`."""
        self.place(four, self.attacker)
        plies = 3
        for reply in self.answers_to_four():
            self.place(reply, self.defender)
            plies = max(plies, self.vcf() + 2)
            self.board.undo()
            if plies >= NEVER:
                break
        self.board.undo()
        return min(plies, NEVER)

    def place(self, point: int, colour: int) -> None:
        self.nodes += 1
        if self.nodes > self.node_limit:
            raise TimeoutError("too many nodes for an exhaustive search")
        self.board.place(point, COLOURS[colour])

    def fours(self) -> list[int]:
        """Return the legal moves of the attacker that make a four and leave the defender no five point."""
        found = []
        threatened = self.board.points_with(self.defender, "five")
        for p in self.board.points_with(self.attacker, "four"):
            if self.stops(p, self.attacker, threatened) and self.legal(p, self.attacker):
                found.append(p)
        return found

    def stops(self, point: int, colour: int, fives: list[int]) -> bool:
        """Return whether a stone of `colour` there leaves none of the opponent's five points.

        `fives` are all of them: a stone of the other side never makes a new one.
        """
        if not fives:
            return True
        self.board.place(point, COLOURS[colour])
        stopped = not any(self.board.has(f, 1 - colour, "five") for f in fives)
        self.board.undo()
        return stopped

    def answers_to_four(self) -> list[int]:
        """Return the legal moves of the defender after which the attacker has no five point."""
        fives = self.board.points_with(self.attacker, "five")
        # a move that is on no line through a five point leaves that five point as it is
        lines = [self.board.lines[number][0] for number, _ in self.board.place_in_line[fives[0]]]
        near = sorted({p for line in lines for p in line if self.board.cells[p] == "."})
        return [p for p in near if self.stops(p, self.defender, fives) and self.legal(p, self.defender)]

    def threats(self) -> list[int]:
        """Return the threats of the attacker, to move, that are no fours."""
        board = self.board
        fives = board.points_with(self.defender, "five")
        points = board.points_with(self.attacker, "open_three")
        if fives:
            points = [p for p, c in enumerate(board.cells) if c == "."]
        found = []
        fours = set(board.points_with(self.attacker, "four"))
        for p in points:
            if p in fours or not self.stops(p, self.attacker, fives) or not self.legal(p, self.attacker):
                continue
            self.place(p, self.attacker)
            plies = self.vcf()
            board.undo()
            if plies <= 2 * self.threat_fours + 1:
                found.append(p)
        return found

    def vct(self, plies: int = UNLIMITED) -> bool:
        """Return whether the attacker, to move, has a VCT whose five stands within so many plies.

        Raises:
            TimeoutError: if the node limit is passed.
        """
        if plies < 1:
            return False
        if self.board.points_with(self.attacker, "five"):
            return True
        if plies < 3:
            return False
        if self.vcf() <= plies:
            return True
        key = ("".join(self.board.cells), plies)
        if key not in self.vct_memo:
            self.vct_memo[key] = any(self.vct_after(p, plies, four=True) for p in self.fours()) or any(
                self.vct_after(p, plies, four=False) for p in self.threats()
            )
        return self.vct_memo[key]

    def vct_after(self, move: int, plies: int, *, four: bool) -> bool:
        """Return whether a move of `fours` or `threats` begins a VCT of at most so many plies."""
        left = plies - 2 if plies < UNLIMITED else UNLIMITED
        self.place(move, self.attacker)
        replies = self.answers_to_four() if four else range(len(self.board.cells))
        hard = []  # replies that stop every VCF
        for reply in replies:
            if self.legal(reply, self.defender):
                self.place(reply, self.defender)
                if self.vcf() > left:
                    hard.append(reply)
                self.board.undo()
        wins = True
        for reply in hard:
            self.place(reply, self.defender)
            wins = self.vct(left)
            self.board.undo()
            if not wins:
                break
        self.board.undo()
        return wins


class MirroredBoard(NaiveBoard):
    """A naive board whose stones stand on a kernel board as well."""

    def __init__(self, original: NaiveBoard) -> None:
        super().__init__(original.width, original.height, original.rule)
        self.kernel = Board(original.width, original.height, original.rule)
        for point, _ in original.history:
            self.place(point, original.cells[point])

    def place(self, point: int, stone: str) -> None:
        super().place(point, stone)
        if stone == "#":
            self.kernel.block(point)
        else:
            self.kernel.place(point, COLOURS.index(stone))

    def undo(self) -> None:
        super().undo()
        self.kernel.undo()


class QuickVctSolver(ExhaustiveSolver):
    """The same VCT search with VCF asked of the kernel, which has to equal `ExhaustiveSolver` in that itself.

    Plain VCT spends nearly all of its time on VCF; this makes thousands of positions affordable.
    """

    def __init__(
        self, board: MirroredBoard, attacker: int, threat_fours: int, node_limit: int = 10**9
    ) -> None:
        super().__init__(board, attacker, threat_fours, node_limit)
        self.kernel = board.kernel
        self.solver = Solver(14)

    def vcf(self) -> int:
        solution = self.solver.solve(self.kernel, "vcf", self.attacker, nodes=1_000_000)
        if solution.verdict == Verdict.UNKNOWN:
            raise TimeoutError("too many nodes for the VCF of an exhaustive search")
        return solution.distance if solution.verdict == Verdict.WIN else NEVER
