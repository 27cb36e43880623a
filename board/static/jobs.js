// What the engine is asked for next, and what becomes of its answers.

import { t } from "./i18n.js";
import { judgeJob } from "./judge.js";
import { lineName, percentSign } from "./names.js";

const HINT_MS = 1500;
const BALANCE_MS = 2500; // for each move; all moves of the board are looked at
const GROWING = ["analysis", "threat"]; // answers that others follow
const REVIEWING = ["judged", "reviewed"];

// The one thing that the engine of the page is to do now; null for nothing.
export function nextJob(app) {
  const { game, table, settings } = app;
  const node = game.current;
  const failed = (message) => app.failed(message);
  if (app.review.running) return app.review.job((message) => (REVIEWING.includes(message.type) ? app.reviewed(message) : failed(message)));
  const judges = (settings.dots || settings.teach) && !table.opening && node.facts && !node.facts.over && !game.ended;
  const judge = judges && judgeJob(game, (message) => app.judged(message, node));
  if (judge) return judge;
  if (table.isDue(game)) return table.job(game, (message, at) => app.actions.engineSaid(message, at));
  if (!node.facts || node.facts.over) return null;
  if (app.hint && app.hint.point === null) return app.hint.job(node);
  if (document.hidden) return null;
  if (!settings.analyse) return settings.ponder && table.mayPonder(game) ? ponderJob(app) : null;
  return app.analysis.job(game, settings, (message) => {
    if (!GROWING.includes(message.type)) return failed(message);
    app.analysis.take(message, node);
    return app.drawThinking();
  });
}

// The tree that grows here is the one that the engine's next move begins with.
function ponderJob(app) {
  const fields = { game: app.game.moves(), lines: 1 };
  const hear = (message) => { if (!GROWING.includes(message.type)) app.failed(message); };
  return { key: JSON.stringify(["ponder", fields]), type: "analyse", fields, hear };
}

// A short analysis on behalf of a hint; `done` gets its last answer.
function lookJob(app, name, node, done) {
  const fields = { game: app.game.moves(node), lines: 1, limit_ms: HINT_MS };
  const hear = (message) => {
    if (!GROWING.includes(message.type)) return app.failed(message);
    if (!message.done || app.hint?.node !== node) return undefined;
    app.engine.forget();
    return done(message);
  };
  return { key: JSON.stringify([name, fields]), type: "analyse", fields, hear };
}

export function hintJob(app, node) {
  return lookJob(app, "hint", node, (message) => {
    Object.assign(app.hint, { point: message.point, score: message.moves[0].score });
    app.changed();
  });
}

// What the engine says to a draw that a person offers.
export function drawJob(app, node, engine) {
  return lookJob(app, "draw", node, (message) => {
    app.hint = null;
    app.offers.answer(message.wdl, engine);
  });
}

// Moves of one or two stones after which nobody is ahead.
export function balanceJob(app, node, count) {
  const fields = { game: app.game.moves(node), count, turn_ms: count * BALANCE_MS };
  const hear = (message) => {
    if (message.type !== "balanced") return app.failed(message);
    if (app.hint?.node !== node) return undefined;
    app.engine.forget();
    const points = lineName(message.points, app.game.width);
    const text = () => t("status.balanced", { points, chance: percentSign(message.score) });
    Object.assign(app.hint, { point: message.points[0], points: message.points, text });
    return app.changed();
  };
  return { key: JSON.stringify(["balance", fields]), type: "balance", fields, hear };
}
