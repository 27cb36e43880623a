"""What an engine takes: imports, memory of the tree and of the process."""

import os
import subprocess
import sys

import pytest

from engine import Engine, EngineConfig
from engine.memory import MAX_TREE_BYTES, MIN_TREE_BYTES, private_bytes, tree_bytes
from tests.helpers.paths import ROOT


def test_tree_bytes_follow_the_limit():
    limit = 350 << 20
    held, cache = 60 << 20, 24 << 20
    assert held + cache + tree_bytes(limit, held, cache) <= 300 << 20
    assert tree_bytes(limit, held, cache) > 150 << 20
    assert tree_bytes(10 << 20, held, cache) == MIN_TREE_BYTES
    assert tree_bytes(None, held, cache) == tree_bytes(0, held, cache) > 1 << 30
    assert 6 << 30 < tree_bytes(8 << 30, held, cache) < 7 << 30
    assert tree_bytes(1 << 50, held, cache) == MAX_TREE_BYTES


def test_a_limit_above_that_of_none_is_used():
    engine = Engine(EngineConfig(net="hashed", memory_bytes=6 << 30))
    engine.warm_up()
    assert engine._resources.search.tree.memory_bytes > 4 << 30
    engine.set_memory(8 << 30)
    assert engine._resources.search.tree.memory_bytes > 6 << 30
    engine.close()


def test_private_memory_is_known_and_sees_an_allocation():
    before = private_bytes()
    block = bytearray(os.urandom(1 << 20) * 32)
    after = private_bytes()
    assert before and after and after - before > 24 << 20
    del block


@pytest.mark.parametrize("limit_mib", [96, 160, 350] if os.environ.get("TENGEN_LONG") else [96])
def test_a_search_stays_within_its_memory(limit_mib):
    """The smallest limit is reached before 300,000 simulations; the others want the long run."""
    code = (
        "import sys\nfrom engine import Engine, EngineConfig, Rule, SearchLimits\n"
        "from engine.memory import private_bytes\n"
        "e = Engine(EngineConfig(net='hashed', seed=1, cache_mib=8)); e.new_game(20, 20, Rule.FREESTYLE)\n"
        "e.set_memory(int(sys.argv[1])); e.set_position([(190, 0), (211, 1)]); e.warm_up()\n"
        "r = e.think(SearchLimits(max_nodes=int(sys.argv[2]), turn_ms=20_000), e.clock.now_s())\n"
        "print(private_bytes(), r.simulations)\n"
    )
    limit = limit_mib << 20
    done = subprocess.run(
        [sys.executable, "-c", code, str(limit), str(350_000 if limit_mib < 100 else 2_000_000)],
        capture_output=True, text=True, timeout=100, check=True, cwd=ROOT,
    )  # fmt: skip
    used, simulations = map(int, done.stdout.split())
    assert used <= 0.86 * limit
    assert simulations > 20_000


def test_importing_the_facade_stays_lean():
    code = (
        "import sys, engine.engine\n"
        "print([m for m in ('onnxruntime', 'torch', 'onnx', 'tomllib', 'argparse') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_many_games_in_one_process_do_not_grow():
    code = (
        "import random\nfrom engine import Engine, EngineConfig, Rule, SearchLimits\n"
        "from engine.memory import private_bytes\n"
        "g = random.Random(1)\n"
        "e = Engine(EngineConfig(net='hashed', seed=1, memory_bytes=64 << 20)); e.warm_up()\n"
        "def game():\n"
        "    side = g.choice((15, 20))\n"
        "    e.new_game(side, side, g.choice(list(Rule)))\n"
        "    for _ in range(10):\n"
        "        e.play(e.think(SearchLimits(max_nodes=300), e.clock.now_s()).point)\n"
        "used = []\n"
        "for i in range(60):\n"
        "    game()\n"
        "    used.append(private_bytes())\n"
        "print(max(used[:20]), max(used[20:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True, cwd=ROOT
    )
    early, late = map(int, done.stdout.split())
    assert late - early < 1 << 20
