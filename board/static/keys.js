// The keyboard: which key does what.

import { $, h } from "./dom.js";

// actions: name -> function; the names are those of the table below.
const KEYS = [
  ["←  →", ["ArrowLeft", "back"], ["ArrowRight", "next"], "back and forward through the game"],
  ["↑  ↓", ["ArrowUp", "previousVariation"], ["ArrowDown", "nextVariation"], "between variations"],
  ["Home  End", ["Home", "first"], ["End", "last"], "to the start, to the end"],
  ["Space", [" ", "engine"], "let the engine move, or pause and go on while you watch"],
  ["A", ["a", "analyse"], "analysis on and off"],
  ["V", ["v", "show"], "what the analysis shows on the board"],
  ["H", ["h", "hint"], "show a good move"],
  ["U", ["u", "undo"], "take back"],
  ["N", ["n", "numbers"], "numbers on the stones"],
  ["Shift ← ↑ → ↓", "aim at a point; Enter plays there"],
  ["?", ["?", "help"], "this list"],
];

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function listen(actions) {
  const names = new Map(KEYS.flatMap((row) => row.filter(Array.isArray)));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const { target } = event;
    if (target.matches?.("input:not([type=checkbox]), textarea, select")) return;
    if (event.shiftKey && STEPS[event.key]) {
      event.preventDefault();
      actions.aim(...STEPS[event.key]);
      return;
    }
    if (event.key === "Enter" && !target.matches?.("button, summary, tr, a")) {
      actions.place();
      return;
    }
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const name = names.get(key);
    if (!name || (key === " " && target.matches?.("button, summary, input, a"))) return;
    event.preventDefault();
    actions[name]();
  });
  $("keys").append(
    ...KEYS.flatMap((row) => [h("dt", {}, h("kbd", {}, row[0])), h("dd", {}, row[row.length - 1])]),
  );
}
