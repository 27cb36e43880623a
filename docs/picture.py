"""Make the picture of the README: the board of `python -m engine play` with an analysis next to it.

python -m engine play --colour none --level 10,10 --time 0.4 --delay 0    (at its end: save docs/game.psq)
python docs/picture.py --game docs/game.psq --moves 22 --simulations 2000 --out docs/game.svg
"""

import argparse
import re
import sys
from io import StringIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI

from engine.config import EngineConfig
from engine.games.files import load_game
from engine.play.actions import ACTIONS, act
from engine.play.commands import parse_command
from engine.play.game import Game
from engine.play.players import HUMANS, Players
from engine.play.screen import Screen
from engine.play.session import Session
from engine.play.thinker import Thinker

ROWS, COLUMNS = 20, 80
LONGEST_S = 60.0


def terminal(columns: int) -> Console:
    """Return a console that remembers what it shows as a coloured terminal would show it."""
    return Console(
        file=StringIO(), record=True, force_terminal=True, color_system="truecolor", width=columns,
        height=ROWS, highlight=False, legacy_windows=False, _environ={"TERM": "xterm-256color"},
    )  # fmt: skip


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", type=Path, required=True, help="saved game, .psq or .sgf")
    parser.add_argument("--moves", type=int, required=True, help="how many of its stones are on the board")
    parser.add_argument("--simulations", type=int, default=2000, help="of the analysis (2000)")
    parser.add_argument("--out", type=Path, required=True, help="SVG file to write")
    args = parser.parse_args()
    record = load_game(args.game, 0)
    game = Game(record.width, record.height)
    for point in record.points[: args.moves]:
        game.play(point)
    thinker = Thinker(
        EngineConfig(seed=1, simulations=args.simulations), log=print, tick=lambda elapsed_s: None
    )
    session = Session(game, Players(HUMANS["both"]), thinker, Screen(terminal(COLUMNS)), act)
    command = parse_command(f"analyse {LONGEST_S:g}", record.width, record.height)
    ACTIONS[command.name](session, command)
    console = terminal(COLUMNS)
    session.screen = Screen(console)
    session.redraw()
    # No fonts from the network: the reader's own monospace font does.
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    picture = console.export_svg(
        title="python -m engine play", theme=MONOKAI, code_format=form, unique_id="tengen"
    )
    args.out.write_text(picture, encoding="utf-8")
    thinker.close()


if __name__ == "__main__":
    main()
