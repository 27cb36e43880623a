"""Play a match: pairs of games on one opening with colours swapped, kept as they are finished.

A pair is the unit: its two games share an opening, its score is one of five (0 to 2 points), and no opening
is used by two pairs unless that is asked for.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext
from pathlib import Path

from arena.commands import CommandError, split_command
from arena.errors import BrainFailureError
from arena.journal import GameJournal
from arena.managers import manager_named
from arena.match_config import MatchConfig, list_openings, opening_of
from arena.match_result import MatchResult
from arena.players import Player, make_local
from arena.pool import as_done, executor, one_core_each, raise_if_given_up, worker_cores
from arena.records import GameSetup, PlayedGame
from arena.referee import play_game
from arena.timing_lock import pause_while_timed
from engine.errors import EngineError
from engine.games.psq import to_psq
from engine.games.record import GameRecord
from engine.games.sgf import to_sgf


def make_player(config: MatchConfig, side: int, seed: int, log_path: Path | None = None) -> Player:
    """Return player a (side 0) or b of a match.

    Raises:
        ValueError: a player inside of this program with settings that it does not know.
    """
    spec, limits = (config.a, config.b)[side], config.limits[side]
    if config.is_local(spec):
        return make_local(spec, limits, seed, config.kinds, own_time=config.in_process)
    return manager_named(limits.manager)(spec, limits, log_path=log_path, cores=worker_cores())


def require_start(config: MatchConfig) -> None:
    """Start every player of a match once; with a manager that does not wait for OK, nothing is asked.

    Raises:
        ValueError: one does not start, so that it would lose every game without a move.
    """
    setup = GameSetup(0, config.width, config.height, config.rule)
    for side, (name, spec) in enumerate(zip(config.names, (config.a, config.b), strict=True)):
        player: Player | None = None
        try:
            if not config.is_local(spec):
                split_command(spec)
            player = make_player(config, side, config.seed)
            player.new_game(PlayedGame(setup, black=side), side)
        except (BrainFailureError, CommandError, EngineError) as failure:
            text = " ".join(str(failure).split())
            raise ValueError(f"{name} does not start ({spec}): {text}") from failure
        finally:
            if player is not None:
                player.close()


def play_index(config: MatchConfig, opening: tuple[int, ...], index: int) -> tuple[int, GameRecord]:
    """Play one game of a match; a function of its arguments where the players are.

    Returns:
        The index and the game.
    """
    if config.in_process and config.pauses:
        pause_while_timed(lambda line: print(line, file=sys.stderr, flush=True))
    cores = worker_cores()
    if config.in_process and cores is not None:
        os.sched_setaffinity(0, cores)
    setup = GameSetup(index, config.width, config.height, config.rule, opening, config.draw_after)
    players: list[Player] = []
    try:
        for side in (0, 1):
            log = config.save / f"{index:05d}-{side}.log" if config.save else None
            players.append(make_player(config, side, config.seed + index, log))
        played = play_game(players, setup)
    finally:
        for player in players:
            player.close()
    raise_if_given_up()
    game = played.to_record(config.names)
    if config.save:
        for suffix, text in (("psq", to_psq(game)), ("sgf", to_sgf(game))):
            (config.save / f"{index:05d}.{suffix}").write_text(text, encoding="utf-8")
    return index, game


def run_match(
    config: MatchConfig,
    on_game: Callable[[MatchResult, GameRecord], None] | None = None,
    on_found: Callable[[MatchResult], None] | None = None,
    lent: tuple[Executor, int] | None = None,
) -> MatchResult:
    """Play a match and return its result.

    With a journal, games that it holds are counted and not played again.

    Args:
        config: the match. Openings come from its file or, without one, from its seed.
        on_game: called after every game.
        on_found: called once, when what the journal holds has been counted.
        lent: workers elsewhere and how many there are, in place of `concurrency` here.

    Raises:
        OpeningError: an unusable opening file, or a too short one.
        GameJournalError: the journal is damaged or of another match.
        ValueError: a player that does not exist, or does not start before the first game.
    """
    openings = list_openings(config)
    for spec, limits in zip((config.a, config.b), config.limits, strict=True):
        if config.is_local(spec):
            make_local(spec, limits, 0, config.kinds).close()  # refuse a bad one before the first game
    if config.save:
        config.save.mkdir(parents=True, exist_ok=True)
    journal = GameJournal(config.journal, config.settings(openings)) if config.journal else None
    result = MatchResult(sprt=config.sprt)
    match_ms = (config.limits[0].match_ms, config.limits[1].match_ms)
    started_s = time.monotonic()
    try:
        # In the order in which they ended, so that a test that was decided is decided again.
        for index, game in journal.games.items() if journal else ():
            if index < config.games:
                result.add(index, game, match_ms)
                result.update_sprt()
        done = {index for index in (journal.games if journal else ()) if index < config.games}
        if on_found:
            on_found(result)
        if len(done) < config.games and result.verdict is None:
            require_start(config)
        todo = (
            (config, opening_of(config, openings, index // 2), index)
            for index in range(config.games)
            if index not in done and result.verdict is None
        )
        cores = one_core_each(config.concurrency) if config.one_core else ()
        own = executor(
            config.concurrency, processes=config.in_process and config.concurrency > 1, cores=cores
        )
        with nullcontext(lent[0]) if lent else own as pool:
            for index, game in as_done(pool, lent[1] if lent else config.concurrency, play_index, todo):
                if journal:
                    journal.add(index, game)
                result.add(index, game, match_ms)
                result.elapsed_s = time.monotonic() - started_s
                result.update_sprt()
                if on_game:
                    on_game(result, game)
    finally:
        if journal:
            journal.close()
    return result
