// Where the keyboard's focus goes: back to the board after a mouse or a finger has used a control, so that the
// next key is one of the game and not a second press of that control.

import { $ } from "./dom.js";

const USED = "button, summary, select, label, input[type=checkbox], input[type=range]";
const KEPT = "dialog, #line-rows, a";
let byPointer = false;

export function toBoard() {
  $("board").focus({ preventScroll: true });
}

// Whether the last thing a person did was with the mouse or a finger.
export function pointed() {
  return byPointer;
}

export function watchFocus() {
  addEventListener("pointerdown", () => { byPointer = true; }, true);
  addEventListener("keydown", () => { byPointer = false; }, true);
  for (const type of ["click", "change"]) {
    document.addEventListener(type, (event) => {
      const { target } = event;
      if (!byPointer || !target.closest?.(USED) || target.closest(KEPT) || document.querySelector("dialog[open]")) return;
      if (type === "click" && target.closest("select, label, input")) return; // their change follows
      toBoard();
    });
  }
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("close", () => {
      if (byPointer || dialog.returnValue) toBoard(); // else it was left, and its button has the focus again
      dialog.returnValue = "";
    });
  }
}
