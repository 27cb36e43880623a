// What a person prefers: kept in the browser, changed in the window for it.

import { $ } from "./dom.js";

export const DEFAULTS = {
  show: "chances", // what the analysis shows on the board
  analyse: false,
  numbers: false,
  reviewMs: 400,
  confirm: "small", // a second tap plays: on "small" cells, "always", "never"
  rows: "top", // where row 1 is: "top" or "bottom"
  sound: true,
  dots: false, // the quality of every move while playing
  teach: false, // bad moves of a person are taken back
  ponder: false, // the engine thinks in a person's time
  lines: 10, // moves that the analysis lists
  limitMs: 0, // of the analysis of a position; 0: none
  limitNodes: 0,
};

const controls = () => document.querySelectorAll("[data-setting]");

function read(control) {
  if (control.type === "checkbox") return control.checked;
  return typeof DEFAULTS[control.dataset.setting] === "number" ? Number(control.value) : control.value;
}

export function prepareSettings(app) {
  for (const control of controls()) {
    control.addEventListener("change", () => {
      app.settings[control.dataset.setting] = read(control);
      app.changed();
    });
  }
  $("set-theme").addEventListener("change", () => app.actions.setTheme($("set-theme").value || null));
}

export function drawSettings(app) {
  for (const control of controls()) {
    const value = app.settings[control.dataset.setting];
    if (control.type === "checkbox") control.checked = value;
    else control.value = `${value}`;
  }
  $("set-theme").value = app.settings.theme ?? "";
}
