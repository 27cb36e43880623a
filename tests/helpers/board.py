"""What the tests of the page share: a connection, a setting, a language."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import websockets

from tests.board.running import Page, Server
from tests.helpers.paths import ROOT

Connection = Any


def with_page(server: Server, work: Callable[[Connection], Awaitable[Any]]) -> Any:
    """Do something over one connection."""

    async def connected() -> Any:
        origin: Any = server.base.rstrip("/")
        async with websockets.connect(server.socket, origin=origin, max_size=None) as page:
            return await work(page)

    return asyncio.run(connected())


def choose(page: Page, name: str, value: str | bool) -> None:
    """Change a setting as its window does."""
    page.click("do-settings")
    page.js(
        "const c = document.querySelector(`[data-setting=${arguments[0]}]`);"
        "if (c.type === 'checkbox') c.checked = arguments[1]; else c.value = arguments[1];"
        "c.dispatchEvent(new Event('change', {bubbles: true}))",
        name, value,
    )  # fmt: skip
    page.js("document.getElementById('dialog-settings').close()")


def drop(page: Page, name: str, content: str | bytes) -> None:
    """Drop a file on the page."""
    data = content.encode() if isinstance(content, str) else content
    page.js(
        "const bytes = Uint8Array.from(atob(arguments[1]), c => c.charCodeAt(0));"
        "const data = new DataTransfer(); data.items.add(new File([bytes], arguments[0]));"
        "document.body.dispatchEvent(new DragEvent('drop', "
        "{dataTransfer: data, bubbles: true, cancelable: true}))",
        name, base64.b64encode(data).decode(),
    )  # fmt: skip


STATIC = ROOT / "board" / "static"
LANGUAGES = sorted(path.stem for path in (STATIC / "lang").glob("*.json"))
SCENE = """
  document.getElementById('seats').open = true;
  tengen.settings.analyse = true;
  tengen.job = () => null;
  const moves = [113, 98].map((point, i) => ({point, visits: 1234567, prior: .3, score: .9 - i,
    proven: [0, null][i], distance: 21, pv: [point, 97]}));
  const node = tengen.game.current;
  tengen.analysis.take({type: 'analysis', to_move: 1, wdl: [.7, .1, .2], proven: 0, distance: 21,
    pv: [113, 98], visits: 1234567, simulations: 1234567, speed: 45678, depth: 12.3,
    depth_max: 34, moves}, node);
  tengen.analysis.take({type: 'threat', colour: 0, to_move: 1, by: 'vct', distance: 21, line: [97],
    defences: []}, node);
  tengen.draw();
"""
"""Players' settings, an analysis with a proof and a threat: what else is hidden."""
CUT = """
  const pen = document.createElement('canvas').getContext('2d');
  const edge = document.documentElement.clientWidth;
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('svg, option') || !element.checkVisibility() || element.matches('.hidden')) continue;
    const open = document.querySelector('dialog[open]');
    if (open && !open.contains(element)) continue;
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own && element.tagName !== 'SELECT') continue;
    const box = element.getBoundingClientRect();
    let wide = box.left < -.5 || box.right > edge + .5;
    const block = getComputedStyle(element).display !== 'inline';
    wide ||= block && element.scrollWidth > element.clientWidth + 1;
    if (element.tagName === 'SELECT') {
      pen.font = getComputedStyle(element).font;
      const text = element.selectedOptions[0]?.label ?? '';
      wide ||= pen.measureText(text).width > element.clientWidth - 14;
    }
    const name = `${element.tagName}#${element.id}.${element.className}`;
    if (wide) found.push(`${name} ${element.textContent.slice(0, 50)}`);
  }
  for (const box of document.querySelectorAll('dialog[open], .card, header, .tools')) {
    const name = `${box.tagName}#${box.id}`;
    if (box.scrollWidth > box.clientWidth + 1) found.push(`${name} is ${box.scrollWidth} wide`);
  }
  const all = document.documentElement.scrollWidth;
  if (all > edge) found.push(`the page is ${all} wide`);
  return found;
"""


def speak(page: Page, language: str) -> None:
    """Choose a language by hand."""
    page.js(
        "const s = document.getElementById('language'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('change'))", language,
    )  # fmt: skip
    page.wait(f"document.documentElement.lang === '{language}' && tengen.settings.language === '{language}'")
