// How points and numbers are written.

import { t } from "./i18n.js";

let fromBottom = 0; // rows of the board where they are counted from the bottom, 0 where from the top

export function countRows(height, where) {
  fromBottom = where === "bottom" ? height : 0;
}

export function rowName(y) {
  return `${fromBottom ? fromBottom - y : y + 1}`;
}

// A letter for the column, a number for the row: h8. A point below 0 is a pass.
export function pointName(point, width) {
  if (point < 0) return t("move.pass");
  return String.fromCharCode(97 + (point % width)) + rowName(Math.floor(point / width));
}

export function lineName(points, width, most = 99) {
  const shown = points.slice(0, most).map((point) => (point < 0 ? "pass" : pointName(point, width)));
  return shown.join(" ") + (points.length > most ? " …" : "");
}

export function percent(share) {
  return `${Math.round(100 * share)}`;
}

// With its sign, as the language writes it.
export function percentSign(share, digits = 0) {
  return t("number.percent", { n: (100 * share).toFixed(digits) });
}

// 950, 1.2k, 34k, 1.1M
export function short(number) {
  if (number < 1000) return `${number}`;
  if (number < 10_000) return `${(number / 1000).toFixed(1)}k`;
  if (number < 1_000_000) return `${Math.round(number / 1000)}k`;
  return `${(number / 1_000_000).toFixed(1)}M`;
}

// Milliseconds as 4:05, below ten seconds as 0:07.3
export function clock(ms) {
  const left = Math.max(0, ms);
  if (left === 0) return "0:00";
  const seconds = left < 10_000 ? Math.ceil(left / 100) / 10 : Math.ceil(left / 1000);
  const minutes = Math.floor(seconds / 60);
  const rest = seconds - 60 * minutes;
  return left < 10_000 ? `0:${rest.toFixed(1).padStart(4, "0")}` : `${minutes}:${`${rest}`.padStart(2, "0")}`;
}
