"""Analysis of lost games, backwards to the move that lost; `training.lost` is the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.engine import Engine
from engine.games.record import GameRecord
from engine.rules.geometry import format_move
from engine.rules.rule import Rule
from engine.search.result import SearchResult
from engine.timing.budget import SearchLimits
from training.measure.deep import read_games

LEVEL = 0.4
"""Expected score from which a player takes a position for level (protocol: as in the tables of r5 and r6)."""
HARDLY = 0.12
"""Share of the visits up to which a search has hardly looked at a move (protocol: as in r6)."""
BLIND = 0.01
"""Prior below which a search may never look (protocol: as in `training.holdout`)."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a lost game turned, by searches of a given net, not of the one that played.

    Attributes:
        game: name of the file.
        width: of the board.
        colour: of the loser, 0 black, 1 white.
        ply: stones before the loser's last level move; that of its first move where none was level.
        move: that move.
        before: expected score of the loser there (win 1, draw 1/2).
        answer: the winner's reply.
        prior: of the reply, 0 to 1; None where the solver had decided at the winner's turn, without the net.
        rank: of that prior, 1 is the largest; 0 with none.
        share: of the visits of a search at the winner's turn that went to the reply; 1 with no prior.
        after: expected score of the loser at its next turn.
        proven: that it is lost for certain.
    """

    game: str
    width: int
    colour: int
    ply: int
    move: int
    before: float
    answer: int
    prior: float | None
    rank: int
    share: float
    after: float
    proven: bool


def lost_games(
    folder: Path, player: str, on_skip: Callable[[str], None]
) -> Iterator[tuple[str, GameRecord]]:
    """Yield name and record of the games of a folder that a player lost by five, in order of their names.

    Args:
        folder: of .psq and .sgf files, as `training.match --save` writes them.
        player: its name in them.
        on_skip: gets a line for each file that cannot be read.
    """
    for path, game in read_games(folder, on_skip):
        if game.reason == "five" and game.names[0] != game.names[1] and player == game.names[1 - game.winner]:
            yield path.stem, game


def turn_of(engine: Engine, name: str, game: GameRecord, limits: SearchLimits) -> Turn | None:
    """Return where a game turned against its loser; None where the loser had no move to choose.

    Args:
        engine: at full strength; its position is replaced.
        name: of the game.
        game: with a winner.
        limits: of each search.
    """
    loser = 1 - game.winner
    first = game.opening_stones + (game.opening_stones % 2 != loser)
    after: SearchResult | None = None
    for ply in reversed(range(first, len(game.points) - 1, 2)):
        here = _search(engine, game, ply, limits)
        if _score(here) >= LEVEL or ply == first:
            reply = _search(engine, game, ply + 1, limits)
            return _turn(name, game, ply, here, reply, after)
        after = here
    return None


def _search(engine: Engine, game: GameRecord, ply: int, limits: SearchLimits) -> SearchResult:
    """Search a position of a game from an empty tree."""
    engine.new_game(game.width, game.height, Rule(game.rule))
    engine.set_position([(p, i & 1) for i, p in enumerate(game.points[:ply])], ply & 1)
    return engine.nbest(game.width * game.height, limits, engine.clock.now_s())


def _score(result: SearchResult) -> float:
    return result.wdl[0] + result.wdl[1] / 2


def _turn(
    name: str, game: GameRecord, ply: int, here: SearchResult, reply: SearchResult, after: SearchResult | None
) -> Turn:
    answer = game.points[ply + 1]
    prior, rank, share = None, 0, 1.0
    visits = sum(move.visits for move in reply.candidates)
    found = next((move for move in reply.candidates if move.point == answer), None)
    if found is not None and visits:
        prior, share = found.prior, found.visits / visits
        rank = 1 + sum(move.prior > found.prior for move in reply.candidates)
    return Turn(
        game=name, width=game.width, colour=1 - game.winner, ply=ply, move=game.points[ply],
        before=_score(here), answer=answer, prior=prior, rank=rank, share=share,
        after=0.0 if after is None else _score(after), proven=after is None or after.proven == "loss",
    )  # fmt: skip


def lines_of(turns: Sequence[Turn]) -> list[str]:
    """Return a table for people, a line a game (rows count from the top), and what games have in common."""
    lines = ["game         we  last level move     answer   prior  rank  visits   then"]
    for turn in turns:
        move, answer = (format_move(point, turn.width) for point in (turn.move, turn.answer))
        then = "proven loss" if turn.proven else f"{turn.after:.2f}"
        seen = "solved, without the net" if turn.prior is None else (
            f"{turn.prior:6.1%}  {turn.rank:4d}  {turn.share:6.1%}   {then}"
        )  # fmt: skip
        lines.append(
            f"{turn.game:<12} {'XO'[turn.colour]}  {turn.ply + 1:3d}. {move:<4} {turn.before:8.2f}"
            f"  {answer:>6}  {seen}"
        )
    counts = {
        "never level": sum(turn.before < LEVEL for turn in turns),
        f"answer got {HARDLY:.0%} of the visits at most": sum(turn.share <= HARDLY for turn in turns),
        f"its prior below {BLIND:.0%}": sum(turn.prior is not None and turn.prior < BLIND for turn in turns),
        "a proven loss behind it": sum(turn.proven for turn in turns),
    }
    return [*lines, f"{len(turns)} games: " + ", ".join(f"{what} {n}" for what, n in counts.items())]
