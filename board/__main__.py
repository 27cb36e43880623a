"""`python -m board`: serve the board in the browser."""

from __future__ import annotations

import os
import sys
from importlib import metadata

from board.cli import main
from engine.pipes import run_piped

if __name__ == "__main__":
    status = run_piped(lambda: main(sys.argv[1:], metadata.version("tengen-gomoku")))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
