// The keyboard: which key does what.

import { $, h } from "./dom.js";
import { toBoard } from "./focus.js";

// actions: name -> function; the names are those of the table below. The last of a row is the key of its text.
const KEYS = [
  ["←  →", ["ArrowLeft", "back"], ["ArrowRight", "next"], "key.walk"],
  ["↑  ↓", ["ArrowUp", "previousVariation"], ["ArrowDown", "nextVariation"], "key.variations"],
  ["Home  End", ["Home", "first"], ["End", "last"], "key.ends"],
  ["Space", [" ", "engine"], "key.engine"],
  ["A", ["a", "analyse"], "key.analyse"],
  ["V", ["v", "show"], "key.show"],
  ["H", ["h", "hint"], "key.hint"],
  ["U  Ctrl+Z", ["u", "undo"], "key.undo"],
  ["Ctrl+Y", "key.redo"],
  ["N", ["n", "numbers"], "key.numbers"],
  ["M", ["m", "sound"], "key.sound"],
  ["+  −  0", ["+", "larger"], ["-", "smaller"], ["0", "whole"], "key.zoom"],
  ["Shift ← ↑ → ↓", "key.aim"],
  ["Esc", "key.escape"],
  ["?", ["?", "help"], "key.help"],
];

const TYPED = "textarea, input:not([type=checkbox]):not([type=radio]):not([type=range])";

// Ctrl+Z takes back; with Shift, or as Ctrl+Y, it puts back.
function undoes({ key, shiftKey }) {
  if (key.toLowerCase() === "z") return shiftKey ? "redo" : "undo";
  return key.toLowerCase() === "y" && !shiftKey ? "redo" : null;
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function listen(actions) {
  const names = new Map(KEYS.flatMap((row) => row.filter(Array.isArray)));
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && undoes(event) && !document.querySelector("dialog[open]")) {
      if (event.target.matches?.(TYPED)) return; // the text's own
      event.preventDefault();
      actions[undoes(event)]();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (actions.app.setup.active && !event.shiftKey && !["Enter", "Escape"].includes(event.key)) return;
    const { target } = event;
    if (event.key === "Escape") {
      if (target.matches?.("input, textarea")) toBoard();
      actions.escape();
      return;
    }
    if (target.matches?.(`${TYPED}, input[type=range], select`)) return;
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
    ...KEYS.flatMap((row) => [h("dt", {}, h("kbd", {}, row[0])), h("dd", { "data-t": row[row.length - 1] })]),
  );
}
