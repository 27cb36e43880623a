// What a person can do on the page. Each action ends with `app.changed()`.

import { $ } from "./dom.js";
import { foul, side, t } from "./i18n.js";
import { balanceJob, hintJob } from "./jobs.js";
import { pointName } from "./names.js";
import { closeNotices, notice } from "./notices.js";
import { SHOWS } from "./overlay.js";
import { stoneSound } from "./sound.js";
import { shift, symmetry } from "./transform.js";

const ZOOM_STEP = 1.3;

// Who puts the next stone in a swap2 opening with so many on the board: three are offered, the other side may put two.
function openingSeat(ply) {
  return ply < 3 ? 0 : 1;
}

export class Actions {
  constructor(app) {
    this.app = app;
  }

  // --- moves ------------------------------------------------------------------------------------------------

  // A click on a point: a move of the side to move, if a person may make it.
  point(point) {
    const { app } = this;
    const { game, table } = app;
    const node = game.current;
    app.stopShow();
    if (app.setup.active) return app.setup.point(point);
    if (game.taken.has(point)) return;
    if (game.ended) return notice(t("move.ended", { result: table.result(game) }), { key: "move" });
    const { facts } = node;
    if (facts?.over) return notice(t("move.over", { result: table.result(game) }), { key: "move" });
    const reason = facts?.forbidden[point];
    const name = pointName(point, game.width);
    if (reason) return notice(t("move.forbidden", { point: name, reason: foul(reason) }), { key: "move" });
    if (table.isDue(game)) return notice(t("move.engines_turn"), { key: "move" });
    if (table.isOpening(node) && !this.mayOpen(facts)) return undefined;
    this.put(point, performance.now() - table.since);
  }

  // In swap2: whether a stone may be put now; a sixth stone takes white.
  mayOpen(facts) {
    if (!facts?.opening) return false; // the question is on its way
    if (facts.opening.may_choose && this.app.game.current.ply === 5) this.takeColour(1);
    return true;
  }

  // judged: what is known of the move already.
  put(point, ms, judged = null) {
    const { app } = this;
    const { game, table } = app;
    const clocks = table.clocksAfter(game, game.current.ply % 2);
    const node = game.play(point, ms);
    node.clocks = clocks;
    node.fresh = true; // may be judged
    node.judged ??= judged;
    app.undone = null;
    if (app.settings.sound) stoneSound(node.colour);
    if (table.isOpening(node)) game.opening = node.ply;
    table.forced = null;
    table.paused = false;
    table.turn(node);
    app.hint = null;
    app.puzzles.moved(node);
    app.changed();
  }

  takeColour(colour) {
    const { app } = this;
    const { game, table } = app;
    const chooser = game.current.facts?.opening?.chooser ?? 0;
    if (colour !== chooser) table.exchange();
    table.opening = false;
    table.forced = null;
    game.opening = game.current.ply;
    game.names = [0, 1].map((side) => table.nameNow(game, side));
    table.turn(game.current);
    const person = table.seats[colour] === "person";
    notice(person ? t(`opening.you_took.${side(colour)}`) : t(`opening.engine_took.${side(colour)}`), { key: "opening" });
    app.changed();
  }

  // The engine has answered the question that was put at `node`.
  engineSaid(message, node) {
    const { app } = this;
    const { game, table } = app;
    if (game.current !== node || !table.isDue(game)) return; // also where a pause came before an answer that waits
    if (message.type === "analysis") {
      app.analysis.take(message, node);
      app.drawThinking();
    } else if (message.type === "move") {
      app.engine.forget();
      this.put(message.point, message.ms);
    } else if (message.type === "swap2") {
      app.engine.forget();
      this.answerSwap2(message, node);
    } else {
      app.failed(message);
    }
  }

  answerSwap2(message, node) {
    if (node.facts.opening.may_choose) {
      this.takeColour(message.swap ? 0 : 1);
      if (!message.swap) this.put(message.points[0], 0);
      return;
    }
    for (const point of message.points) this.put(point, 0);
  }

  undo() {
    const { app } = this;
    const { game, table } = app;
    const from = game.current;
    app.stopShow();
    if (game.ended && !(game.ended.why === "time" && table.time)) { // only the end is taken back
      game.ended = null;
      table.goOn();
      return app.changed();
    }
    if (!from.parent) return notice(t("move.nothing_back"), { key: "move" });
    if (from.children.length) return this.back();
    if (!table.opening && from.ply <= game.opening) return notice(t("move.opening_stays"), { key: "move" });
    let gone = from;
    const both = table.seats.includes("person") && table.seats.includes("engine");
    const mayGo = (node) => table.opening || node.ply > game.opening;
    const engines = (node) => table.seats[table.opening ? openingSeat(node.parent.ply) : node.colour] === "engine";
    while (both && gone.parent.parent && mayGo(gone.parent) && engines(gone)) gone = gone.parent;
    game.ended = null;
    const to = gone.parent;
    game.remove(gone);
    app.undone = { gone, from, to };
    if (table.opening) game.opening = to.ply;
    table.paused = table.watching;
    table.forced = null;
    table.turn(to);
    app.changed();
  }

  // Puts back what was taken back last, while nothing else was played.
  redo() {
    const { app } = this;
    const { game, table, undone } = app;
    if (!undone || game.current !== undone.to || undone.to.children.includes(undone.gone)) return;
    undone.to.children.push(undone.gone);
    game.version++;
    app.undone = null;
    if (table.opening) game.opening = undone.from.ply;
    this.go(undone.from);
  }

  // Space: the engine moves for whoever is to move; while two engines play: pause and go on.
  engine() {
    const { app } = this;
    const { game, table } = app;
    app.stopShow();
    if (game.current.facts?.over || game.ended) return notice(t("move.game_over"), { key: "move" });
    app.review.stop();
    if (table.watching && !table.paused && !game.current.children.length) {
      table.pause(game);
    } else if (table.watching) {
      this.last(false);
      table.goOn();
    } else {
      table.forced = game.current;
    }
    app.changed();
  }

  hint() {
    const { app } = this;
    if (app.game.current.facts?.over || app.table.isDue(app.game)) return;
    app.hint = { node: app.game.current, point: null, job: (node) => hintJob(app, node) };
    app.changed();
  }

  // A move, or two, after which nobody is ahead.
  balance(count) {
    const { app } = this;
    if (!app.game.current.facts || app.game.current.facts.over || app.table.isDue(app.game)) return;
    app.hint = { node: app.game.current, point: null, job: (node) => balanceJob(app, node, count) };
    app.changed();
  }

  // --- turning and shifting ---------------------------------------------------------------------------------

  turn(name) {
    this.transform(symmetry(this.app.game, name));
  }

  shift(dx, dy) {
    const found = shift(this.app.game, dx, dy);
    if (found) this.transform(found);
    else notice(t("turn_board.no_room"), { key: "move" });
  }

  transform([width, height, to]) {
    const { app } = this;
    if (app.setup.active) return;
    app.stopShow();
    app.game.transform(width, height, to);
    app.puzzles.transform(to);
    app.review.stop();
    app.analysis.clear();
    app.hint = app.hovered = app.aimed = app.undone = null;
    app.changed();
  }

  // --- walking ----------------------------------------------------------------------------------------------

  go(node) {
    const { app } = this;
    app.stopShow();
    app.table.forced = null;
    if (app.table.running(app.game) !== null) app.table.settle(app.game); // else the turn would begin anew
    app.game.current = node;
    app.table.turn(node);
    app.hint = null;
    app.changed();
  }

  back() {
    const { parent } = this.app.game.current;
    if (parent) this.go(parent);
  }

  next() {
    const [child] = this.app.game.current.children;
    if (child) this.go(child);
  }

  first() {
    this.go(this.app.game.root);
  }

  last() {
    let at = this.app.game.current;
    while (at.children.length) [at] = at.children;
    this.go(at);
  }

  sibling(step) {
    const node = this.app.game.current;
    const family = node.parent?.children ?? [];
    const other = family[family.indexOf(node) + step];
    if (other) this.go(other);
  }

  previousVariation() {
    this.sibling(-1);
  }

  nextVariation() {
    this.sibling(1);
  }

  promote() {
    this.app.game.promote(this.app.game.current);
    this.app.changed();
  }

  removeVariation() {
    let node = this.app.game.current;
    while (node.parent && node.parent.children[0] === node) node = node.parent;
    this.app.game.remove(node);
    this.go(this.app.game.current);
  }

  // Escape: stops aiming; else closes the messages.
  escape() {
    const { app } = this;
    if (app.setup.active) return app.setup.end();
    app.stopShow();
    const aiming = app.view.gestures.cancel() || app.aimed !== null;
    app.aimed = null;
    app.drawAim(null, false);
    return aiming ? undefined : closeNotices();
  }

  // --- looks ------------------------------------------------------------------------------------------------

  analyse() {
    const { app } = this;
    app.settings.analyse = app.engine.stalled || !app.settings.analyse; // a stalled one is shown as off
    if (!app.settings.analyse) app.analysis.clear();
    app.changed();
  }

  show() {
    const { settings } = this.app;
    settings.show = SHOWS[(SHOWS.indexOf(settings.show) + 1) % SHOWS.length];
    this.app.changed();
  }

  numbers() {
    this.app.settings.numbers = !this.app.settings.numbers;
    this.app.changed();
  }

  larger() {
    this.app.view.zoomAtMiddle(ZOOM_STEP);
  }

  smaller() {
    this.app.view.zoomAtMiddle(1 / ZOOM_STEP);
  }

  whole() {
    this.app.view.setBox(0, 0, 1);
  }

  theme() {
    const { settings } = this.app;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = settings.theme ?? (dark ? "dark" : "light");
    this.setTheme(now === "dark" ? "light" : "dark");
  }

  // "light", "dark", or null as the system has it.
  setTheme(theme) {
    this.app.settings.theme = theme;
    this.app.changed();
  }

  sound() {
    this.app.settings.sound = !this.app.settings.sound;
    notice(this.app.settings.sound ? t("sound.on") : t("sound.off"), { key: "sound" });
    this.app.changed();
  }

  help() {
    $("do-help").click();
  }

  // --- the keyboard's aim -----------------------------------------------------------------------------------

  aim(dx, dy) {
    const { app } = this;
    const { width, height } = app.game;
    const from = app.aimed ?? Math.floor(height / 2) * width + Math.floor(width / 2);
    const x = Math.min(width - 1, Math.max(0, (from % width) + (app.aimed === null ? 0 : dx)));
    const y = Math.min(height - 1, Math.max(0, Math.floor(from / width) + (app.aimed === null ? 0 : dy)));
    app.aimed = y * width + x;
    app.drawAim(app.aimed, true);
  }

  place() {
    if (this.app.aimed !== null) this.point(this.app.aimed);
  }
}
