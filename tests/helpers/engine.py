"""What the tests of the engine share: positions, limits, an evaluator that takes its time."""

from __future__ import annotations

import numpy as np

from engine import Engine, EngineConfig, Rule, SearchLimits
from engine.encoding import FEATURE_VERSION
from engine.evaluator.base import PYTHON_COST
from engine.rules.geometry import parse_moves
from engine.rules.rule import NET_RULES

EMPTY = 2
NODES = SearchLimits(max_nodes=60)
WIN = "h8a1i8a3j8a5k8a7"  # black wins at g8 or l8
BLOCK = "a1h8a3i8a5j8g8k8"  # black has to play l8


class Slow:
    """Uniform in Python; each call takes time on a manual clock, and may fail."""

    name = "slow"
    feature_version = FEATURE_VERSION
    max_batch = None
    min_side, max_side = 5, 22
    rules = NET_RULES
    backend = None
    cost = PYTHON_COST

    def __init__(self, clock=None, seconds=0.0):
        self.clock = clock
        self.seconds = seconds
        self.asked = 0
        self.fail = False

    def evaluate(self, planes, keys):
        self.asked += 1
        if self.fail:
            raise RuntimeError("out of order")
        if self.clock:
            self.clock.time_s += self.seconds
        batch, _, height, width = planes.shape
        wdl = np.tile(np.array([0.3, 0.4, 0.3], np.float32), (batch, 1))
        return np.zeros((batch, height * width), np.float32), wdl


def make(net="uniform", **settings):
    return Engine(EngineConfig(net=net, seed=1, memory_bytes=200 << 20, **settings))


def setup(engine, moves, width=15, height=15, rule=Rule.FREESTYLE):
    engine.new_game(width, height, rule)
    for point in parse_moves(moves, width, height):
        engine.play(point)


def think(engine, limits=NODES, **more):
    return engine.think(limits, engine.clock.now_s(), **more)
