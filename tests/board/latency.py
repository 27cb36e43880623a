"""Measure how quick the board is: click to stone, question to first analysis, updates, speed of the engine.

    python -m tests.board.latency

Times are medians; they mean something on an idle machine only. The engine's speed is counted in simulations
per second of its own processor time, with a browser that looks and without one, so that a busy machine
matters less.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import psutil

from engine.config import EngineConfig
from engine.engine import Engine
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits
from tests.board.running import Page, Server, browser, why_no_browser

MOVES = (112, 128, 140)
CLICKS = 30
PAIRS = 3
SIMULATIONS = 200_000
"""Of the analyses whose speed is compared (derived: what is searched between the last report and the look
at the process is within 1 % of it)."""

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
    layout = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=layout).parse_args()
    reason = why_no_browser()
    if reason is not None:
        print(reason)
        return 2
    server = Server()
    try:
        with browser() as driver:
            page = Page(driver, server.url).open()
            report_clicks(page)
            report_analysis(page)
            shares = []
            for _ in range(PAIRS):
                driver.get("about:blank")  # its engine ends
                alone = simulations_a_cpu_second_alone()
                watched = simulations_a_cpu_second_watched(page, server)
                shares.append(watched / alone)
                print(f"simulations a second of processor time: {alone:.0f} alone, {watched:.0f} watched")
            print(f"with a browser: median {statistics.median(shares):.0%} of the speed without")
    finally:
        server.close()
    return 0


def report_clicks(page: Page) -> None:
    """Print how long a click takes to show its stone."""
    page.new()
    page.js(WATCH_CLICKS)
    for i in range(CLICKS):
        page.place(37 * i % 225)
    delays = page.get("window.delays")
    median = statistics.median(delays)
    print(f"click to stone: median {median:.1f} ms, longest {max(delays):.1f} ms ({len(delays)} clicks)")


def report_analysis(page: Page) -> None:
    """Print how long the first analysis takes, and how many follow a second."""
    firsts, rates = [], []
    for _ in range(5):
        look(page)
        page.wait("window.updates.length > 10")
        updates = page.get("window.updates.slice(0, 11)")
        firsts.append(updates[0][0])
        rates.append(10_000 / (updates[10][0] - updates[0][0]))
        page.js("document.getElementById('analyse').click()")
    print(f"first analysis: median {statistics.median(firsts):.0f} ms, longest {max(firsts):.0f} ms")
    print(f"updates: median {statistics.median(rates):.1f} a second")


def look(page: Page) -> None:
    """Switch the analysis of a new game's position on."""
    page.new()
    page.js(f"for (const p of {list(MOVES)}) tengen.actions.point(p)")
    page.wait("tengen.game.current.ply === 3 && tengen.game.current.facts && tengen.engine.net")
    page.js(WATCH_ANALYSIS)


def simulations_a_cpu_second_watched(page: Page, server: Server) -> float:
    """Let a new engine analyse before a browser; return simulations a second of its processor time."""
    page.open()
    page.wait("tengen.engine.net")
    [process] = psutil.Process(server.process.pid).children()
    before_s = cpu_s(process)
    look(page)
    page.wait(f"window.updates.at(-1)?.[1] >= {SIMULATIONS} || tengen.analysis.found?.done", 300)
    return float(page.get("window.updates.at(-1)[1]")) / (cpu_s(process) - before_s)


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
