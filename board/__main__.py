"""`python -m board`: serve the board in the browser."""

from __future__ import annotations

import os
import sys
from importlib import metadata

from board.cli import main

if __name__ == "__main__":
    status = main(sys.argv[1:], metadata.version("tengen-gomoku"))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
