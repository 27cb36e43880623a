// The windows over the page: new game, save, copy, help.

import { $, h } from "./dom.js";
import { RULES, t } from "./i18n.js";

const SEATS = { black: ["person", "engine"], white: ["engine", "person"], both: ["person", "person"], none: ["engine", "engine"] };

export function prepareDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    for (const button of dialog.querySelectorAll(".cancel")) button.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close(); // beside it
    });
  }
  $("new-rule").append(...Object.entries(RULES).map(([value, name]) => h("option", { value, "data-t": `rule.${name}` })));
  $("new-level").addEventListener("input", showLevel);
}

function showLevel() {
  $("new-level-out").textContent = levelName(Number($("new-level").value));
}

export function levelName(level) {
  const name = level <= 2 ? t("level.beginner") : level <= 4 ? t("level.casual") : level <= 6 ? t("level.club")
    : level <= 8 ? t("level.strong") : level === 9 ? t("level.very_strong") : t("level.full");
  return t("level.value", { level, name });
}

export function show(name) {
  const dialog = $(`dialog-${name}`);
  if (!dialog.open) dialog.showModal();
}

// Closes a window in which something was done.
export function hide(name) {
  $(`dialog-${name}`).close("done");
}

// Asks what the new game shall be; `start` gets {width, height, rule, seats, level, time, swap2}.
export function askNewGame(game, table, start) {
  const form = $("dialog-new").querySelector("form");
  const who = Object.keys(SEATS).find((name) => SEATS[name].join() === table.seats.join());
  form.elements.who.value = who;
  $("new-level").value = table.levels[table.seats[1] === "engine" ? 1 : 0];
  $("new-rule").value = `${game.rule}`;
  $("new-width").value = game.width;
  $("new-height").value = game.height;
  $("new-clock").value = table.time ? `${table.time.mainMs / 1000} ${table.time.incrementMs / 1000}` : "";
  $("new-swap2").checked = false;
  showLevel();
  form.onsubmit = () => {
    const [main, increment] = $("new-clock").value.split(" ").map(Number);
    start({
      width: Number($("new-width").value), height: Number($("new-height").value), rule: Number($("new-rule").value),
      seats: [...SEATS[form.elements.who.value]], level: Number($("new-level").value),
      time: $("new-clock").value ? { mainMs: 1000 * main, incrementMs: 1000 * increment } : null,
      swap2: $("new-swap2").checked,
    });
  };
  show("new");
  form.querySelector("input:checked").focus();
}
