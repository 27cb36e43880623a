// Messages above the cards: what went wrong and what to do.

import { $, h } from "./dom.js";
import { toBoard } from "./focus.js";
import { t } from "./i18n.js";

const STAYS_MS = 7000;
const shown = new Map();

// key: a newer notice with the same key takes its place. action: {text, run}. stays: until it is cleared.
// closed: called when a person closes it.
export function notice(text, { key = text, bad = false, action = null, stays = false, closed = null } = {}) {
  clearNotice(key);
  const close = () => {
    clearNotice(key);
    closed?.();
  };
  const box = h(
    "div",
    { class: `notice${bad ? " bad" : ""}`, role: bad ? "alert" : "status" },
    h("span", {}, text),
    action && h("button", { type: "button", class: "link", onclick: () => { clearNotice(key); action.run(); } }, action.text),
    h("button", { type: "button", class: "close", "aria-label": t("notice.close"), onclick: close }, "×"),
  );
  $("notices").append(box);
  shown.set(key, { box, close, timer: stays ? 0 : setTimeout(() => clearNotice(key), STAYS_MS) });
}

export function closeNotices() {
  for (const { close } of [...shown.values()]) close();
}

export function clearNotice(key) {
  const found = shown.get(key);
  if (!found) return;
  clearTimeout(found.timer);
  if (found.box.contains(document.activeElement)) toBoard();
  found.box.remove();
  shown.delete(key);
}
