// Messages at the edge of the page: what went wrong and what to do.

import { $, h } from "./dom.js";
import { t } from "./i18n.js";

const STAYS_MS = 7000;
const shown = new Map();

// key: a newer notice with the same key takes its place. action: {text, run}. stays: until it is cleared.
export function notice(text, { key = text, bad = false, action = null, stays = false } = {}) {
  clearNotice(key);
  const close = () => clearNotice(key);
  const box = h(
    "div",
    { class: `notice${bad ? " bad" : ""}`, role: bad ? "alert" : "status" },
    h("span", {}, text),
    action && h("button", { type: "button", class: "link", onclick: () => { close(); action.run(); } }, action.text),
    h("button", { type: "button", class: "close", "aria-label": t("notice.close"), onclick: close }, "×"),
  );
  $("notices").append(box);
  shown.set(key, { box, timer: stays ? 0 : setTimeout(close, STAYS_MS) });
}

export function clearNotice(key) {
  const found = shown.get(key);
  if (!found) return;
  clearTimeout(found.timer);
  found.box.remove();
  shown.delete(key);
}
