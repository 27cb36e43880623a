"""Measure how quick the board is: click to stone, question to first analysis, updates, speed of the engine.

    python -m tests.board.latency

Times are medians; they mean something on an idle machine only. The engine's speed is counted in simulations
per second of its own processor time, with a browser that looks and without one, so that a busy machine
matters less.
"""

from __future__ import annotations

import statistics
import sys
import time

import psutil

from engine.config import EngineConfig
from engine.engine import Engine
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits
from tests.board.running import Page, Server, browser, why_no_browser

MOVES = (112, 128, 127)
CLICKS = 30
SIMULATIONS = 40_000
"""Of the analyses whose speed is compared."""

WATCH_CLICKS = """
window.delays = [];
const stones = document.querySelector('.stones');
document.querySelector('svg.board').addEventListener('pointerdown', (event) => {
  const begin = event.timeStamp;
  const drawn = () => requestAnimationFrame(() => delays.push(performance.now() - begin));
  const watch = new MutationObserver(() => { watch.disconnect(); drawn(); });
  watch.observe(stones, {childList: true});
}, {capture: true});
"""
WATCH_ANALYSIS = """
window.updates = [];
window.asked = performance.now();
window.take ??= tengen.analysis.take;
tengen.analysis.take = function (message, node) {
  if (message.type === 'analysis') updates.push([performance.now() - asked, message.simulations]);
  return take.call(this, message, node);
};
document.getElementById('analyse').click();
"""


def main() -> int:
    """Measure and print; return the exit status."""
    reason = why_no_browser()
    if reason is not None:
        print(reason)
        return 2
    alone = simulations_a_cpu_second_alone()
    print(f"without a browser: {alone:.0f} simulations a second of processor time")
    server = Server()
    try:
        with browser() as driver:
            page = Page(driver, server.url).open()
            page.new()
            page.js(WATCH_CLICKS)
            for i in range(CLICKS):
                page.place(37 * i % 225)
            delays = page.get("window.delays")
            print(
                f"click to stone: median {statistics.median(delays):.1f} ms, "
                f"longest {max(delays):.1f} ms ({len(delays)})"
            )
            firsts = []
            for _ in range(5):
                page.new()
                page.js(f"for (const p of {list(MOVES)}) tengen.actions.point(p)")
                page.wait("tengen.game.current.ply === 3 && tengen.game.current.facts && tengen.engine.net")
                process = psutil.Process(server.process.pid).children()[0]
                used_s = cpu_s(process)
                page.js(WATCH_ANALYSIS)
                page.wait("window.updates.length")
                if len(firsts) == 4:
                    page.wait(f"window.updates.at(-1)[1] >= {SIMULATIONS}", 300)
                firsts.append(page.get("window.updates[0][0]"))
                if len(firsts) < 5:
                    page.js("document.getElementById('analyse').click()")
            updates = page.get("window.updates")
            used_s = cpu_s(process) - used_s
            span_s = (updates[-1][0] - updates[0][0]) / 1000
            print(f"first analysis: median {statistics.median(firsts):.0f} ms")
            print(f"updates: {(len(updates) - 1) / span_s:.1f} a second")
            watched = updates[-1][1] / used_s
            print(
                f"with a browser: {watched:.0f} simulations a second of processor time, {watched / alone:.0%}"
            )
    finally:
        server.close()
    return 0


def simulations_a_cpu_second_alone() -> float:
    """Search in this process; return simulations a second of processor time."""
    engine = Engine(EngineConfig(overhead_ms=0))
    engine.new_game(15, 15, Rule.FREESTYLE)
    engine.set_position([(p, i % 2) for i, p in enumerate(MOVES)])
    engine.warm_up()
    began_s = time.process_time()
    result = engine.nbest(10, SearchLimits(max_nodes=SIMULATIONS), engine.clock.now_s())
    return result.simulations / (time.process_time() - began_s)


def cpu_s(process: psutil.Process) -> float:
    """Return the processor time of a process, seconds."""
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    sys.exit(main())
