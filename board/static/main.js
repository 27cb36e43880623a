// The page: holds game, players, analysis and review together, and draws what changed.

import { Actions } from "./actions.js";
import { Analysis } from "./analysis.js";
import { BoardView } from "./boardview.js";
import { connectControls, drawControls, drawVersions, offerBrains } from "./controls.js";
import { Curve } from "./curve.js";
import { $, h } from "./dom.js";
import { Engine } from "./engine.js";
import { serverText, setLanguage, t, translate } from "./i18n.js";
import { nextJob } from "./jobs.js";
import { dots } from "./judge.js";
import { Link } from "./link.js";
import { MoveList } from "./movelist.js";
import { countRows, percentSign, pointName } from "./names.js";
import { clearNotice, notice } from "./notices.js";
import { Offers } from "./offers.js";
import { Overlay } from "./overlay.js";
import { Players } from "./players.js";
import { Review } from "./review.js";
import { DEFAULTS } from "./settings.js";
import { endSound } from "./sound.js";
import { store } from "./store.js";
import { Table } from "./table.js";
import { takeBadMoveBack } from "./teacher.js";
import { Game } from "./tree.js";

const STEP_MS = 650; // between the stones of a line that is played through

class App {
  constructor() {
    this.settings = { ...DEFAULTS, ...store.settings() };
    this.hint = this.hovered = this.ghosts = this.aimed = null;
    this.actions = new Actions(this);
    this.offers = new Offers(this);
    const { actions } = this;
    this.view = new BoardView($("board"), {
      point: (point) => actions.point(point),
      hover: (point) => this.drawHover(point),
      aim: (point) => this.drawAim(point, true),
      free: (point) => this.isFree(point),
      armed: () => notice(t("move.tap_again"), { key: "armed" }),
      zoomed: (zoomed) => { $("do-whole").hidden = !zoomed; },
    });
    $("do-whole").addEventListener("click", () => this.view.setBox(0, 0, 1));
    this.overlay = new Overlay(this.view);
    this.players = new Players();
    this.analysis = new Analysis({
      hover: (move) => { this.hovered = move; this.drawOverlay(); },
      hoverThreat: (threat) => { this.hovered = threat && { pv: threat.line, from: threat.colour }; this.drawOverlay(); },
      play: (move) => actions.point(move.point),
      addLine: (points) => { this.game.addLine(points); this.changed(); },
      playThrough: (points) => this.playThrough(points),
    });
    this.review = new Review({ go: (node) => actions.go(node) });
    this.curve = new Curve({ go: (node) => actions.go(node) });
    this.list = new MoveList({
      go: (node) => actions.go(node),
      comment: (text) => { this.game.current.comment = text; this.keep(); },
    });
    const kept = store.game();
    this.load(kept);
    this.link = new Link(store.token(), {
      open: () => this.connected(),
      closed: (reason, refused) => this.disconnected(reason, refused),
      welcome: (message) => { this.welcome = message; drawVersions(this); offerBrains(this); },
      said: (message) => this.said(message),
    });
    this.engine = new Engine(this.link);
    connectControls(this);
    translate(document); // what the parts have made
    this.changed();
    if (!kept) this.offerLast();
    addEventListener("hashchange", () => location.reload()); // another token
    setInterval(() => this.tick(), 100);
  }

  // --- the game ---------------------------------------------------------------------------------------------

  state() {
    return { game: this.game.toJSON(), table: this.table.toJSON() };
  }

  load(kept) {
    try {
      this.game = kept ? Game.from(kept.game) : new Game();
      this.table = new Table(kept?.table);
    } catch {
      this.game = new Game(); // what was kept is of another version
      this.table = new Table();
    }
    if (!kept) this.game.names = [0, 1].map((colour) => this.table.recordName(colour));
    this.table.since = performance.now();
  }

  restore(state) {
    this.load(JSON.parse(JSON.stringify(state)));
    this.review.clear();
    this.analysis.clear();
    this.changed();
  }

  replaceGame(game, table) {
    this.game = game;
    this.table = new Table({ ...this.table.toJSON(), time: null, left: null, opening: false, paused: false, ...table });
    this.table.turn(game.current);
    this.review.clear();
    this.analysis.clear();
    this.hint = null;
    this.stopShow();
    this.changed();
  }

  newGame({ width, height, rule, seats, level, time, swap2 }) {
    clearNotice("last");
    const game = new Game({ width, height, rule });
    this.replaceGame(game, { seats, levels: [level, level], time, opening: swap2 });
    game.names = [0, 1].map((colour) => this.table.recordName(colour));
    this.keep();
  }

  offerLast() {
    const last = store.lastGame();
    const at = last?.at ?? 0; // 0: kept by version 0.1.0
    if (!last || at === this.settings.declined) return;
    const run = () => this.restore(last);
    const closed = () => {
      this.settings.declined = at;
      store.keepSettings(this.settings);
    };
    notice(t("game.last_visit"), { key: "last", action: { text: t("game.last_visit_go_on"), run }, stays: true, closed });
  }

  keep() {
    store.keep(() => this.state(), () => {
      notice(t("game.not_kept"), { key: "keep", bad: true });
    });
  }

  // --- changes ----------------------------------------------------------------------------------------------

  changed() {
    if (this.game.root.children.length) clearNotice("last");
    if (this.settings.theme) document.documentElement.dataset.theme = this.settings.theme;
    else delete document.documentElement.dataset.theme;
    store.keepSettings(this.settings);
    this.keep();
    this.askFacts(this.game.current);
    this.think();
    this.draw();
  }

  // The server knows the rules: whose turn it is, what is forbidden, who has won.
  async askFacts(node) {
    const opening = this.table.isOpening(node);
    if ((node.facts && (!opening || node.facts.opening)) || node.asked) return;
    const { game } = this;
    node.asked = true;
    try {
      node.facts = await this.link.ask("position", { game: game.moves(node), swap2: opening });
    } catch (error) {
      notice(t("move.refused", { why: error.message }), { key: "move" });
      game.remove(node); // the move was shown before the server refused it
    }
    node.asked = false;
    if (node.facts?.over && node.fresh && this.settings.sound) endSound();
    if (this.game === game) this.changed();
  }

  think() {
    if (this.link?.open) this.engine.want(this.setup.active ? null : this.job());
  }

  job() {
    return nextJob(this);
  }

  judged(message, node) {
    this.engine.forget();
    if (message.type === "refused") this.failed(message);
    else if (this.settings.teach && this.game.current === node) takeBadMoveBack(this, node);
    this.changed();
  }

  reviewed(message) {
    this.review.take(message);
    if (!this.review.running) this.engine.forget();
    if (message.type === "reviewed") this.changed();
    else this.drawReview();
  }

  failed(message) {
    this.review.stop();
    this.table.forced = null;
    this.hint = null;
    const again = { text: t("engine.again"), run: () => { this.engine.forget(); this.table.goOn(); this.changed(); } };
    this.engine.forget();
    this.table.pause(this.game);
    this.engine.stalled = true;
    this.analysis.clear(); // the numbers grow no more
    this.hint = null;
    notice(serverText(message) ?? t("engine.no_answer"), { key: "engine", bad: true, action: again, stays: true });
    this.draw();
  }

  // --- the connection ---------------------------------------------------------------------------------------

  connected() {
    clearNotice("link");
    this.link.tell("look", { visible: !document.hidden });
    this.engine.job = null;
    this.table.comeBack();
    this.changed();
  }

  disconnected(reason, refused) {
    const [code, n] = reason.split(" ");
    const why = code === "pages_open" ? t("link.pages_open", { n }) : code === "not_read" ? t("link.not_read") : t("link.start_again");
    notice(refused ? t("link.refused") : t("link.lost", { why }), { key: "link", bad: true, stays: true });
    if (this.review.running) this.review.stop();
    if (this.table.isDue(this.game)) this.table.leave(this.game); // nobody can move
    this.draw();
  }

  said(message) {
    if (message.type === "ready") {
      this.engine.net = message.net;
      clearNotice("engine");
      drawVersions(this);
    } else if (["lost", "broken", "busy"].includes(message.type)) {
      this.failed(message);
    } else if (message.type === "trouble") {
      notice(t("engine.trouble", { text: serverText(message) }), { key: "trouble" });
    }
  }

  // --- drawing ----------------------------------------------------------------------------------------------

  get thinking() {
    return Boolean(this.engine?.job) && this.table.isDue(this.game) && !this.review.running;
  }

  draw() {
    const { game, table, settings } = this;
    const node = game.current;
    countRows(game.height, settings.rows);
    this.view.setSize(game.width, game.height, settings.rows);
    this.view.gestures.confirm = this.setup.active ? "never" : settings.confirm;
    document.documentElement.style.setProperty("--ratio", $("board").dataset.ratio);
    this.view.draw(this.setup.scene() ?? {
      points: game.path(), numbers: settings.numbers, five: node.facts?.five,
      forbidden: game.ended ? {} : node.facts?.forbidden, mark: node.judged?.mark,
      dots: settings.dots ? dots(node) : {},
    });
    this.players.draw(table, game, this.thinking);
    this.analysis.draw(game, settings.analyse && !this.engine?.stalled && !node.facts?.over);
    this.drawReview();
    this.list.draw(game);
    this.drawStatus();
    this.drawChoices();
    drawControls(this);
    this.drawOverlay();
  }

  // What changes many times a second, and nothing else.
  drawThinking() {
    this.analysis.draw(this.game, this.settings.analyse && !this.engine.stalled);
    this.drawOverlay();
    this.curve.draw(this.game);
  }

  drawReview() {
    this.review.draw(this.game);
    this.curve.draw(this.game);
    this.list.draw(this.game);
  }

  drawOverlay() {
    if (this.setup.active) return this.overlay.clear();
    const { game, settings } = this;
    const node = game.current;
    const { found, threat } = this.analysis.at(node);
    const looking = settings.analyse || this.table.watching;
    const danger = looking ? threat : null;
    const own = node.judged?.mark ? node.judged : null; // the move that led here: what should stand instead
    const next = node.children.find((child) => child.judged?.mark)?.judged;
    const hint = this.hint?.node === node ? this.hint.points ?? this.hint.point : null;
    const from = this.hovered?.from;
    return this.overlay.draw({
      found: looking ? found : null, show: settings.show, hovered: this.hovered, ghosts: this.ghosts, taken: game.taken,
      toMove: from ?? node.ply % 2, threat: danger, defences: danger?.defences,
      better: hint ?? own?.best ?? next?.best ?? null, instead: hint === null && own ? node.colour : null,
    });
  }

  // Whether a person may put a stone there.
  isFree(point) {
    if (this.setup.active) return point !== null;
    const { facts } = this.game.current;
    const free = point !== null && !this.game.taken.has(point) && facts && !facts.over && !facts.forbidden[point];
    return Boolean(free) && !this.game.ended && !this.table.isDue(this.game);
  }

  drawHover(point) {
    this.aimed = null;
    if (this.view.gestures.armed === null) this.view.showAim(this.isFree(point) ? point : null, this.game.current.ply % 2);
    const move = this.settings.analyse && point !== null && this.analysis.at(this.game.current).found?.moves.find((m) => m.point === point);
    if ((move || null) !== this.hovered && !this.hovered?.from) {
      this.hovered = move || null;
      this.drawOverlay();
    }
  }

  drawAim(point, cross) {
    this.view.showAim(point, this.game.current.ply % 2, cross);
    if (point !== null && point === this.aimed) this.view.reveal(point);
  }

  drawStatus() {
    const text = this.hintText() ?? this.table.status(this.game, this.thinking);
    if ($("status").textContent !== text) $("status").textContent = text;
    document.body.classList.toggle("over", Boolean(this.game.current.facts?.over || this.game.ended));
  }

  hintText() {
    const { hint, game } = this;
    if (!hint) return null;
    if (hint.node !== game.current || hint.point === null) return hint.waits?.() ?? t("status.looking");
    if (hint.text) return hint.text();
    return t("status.hint", { point: pointName(hint.point, game.width), chance: percentSign(hint.score) });
  }

  // The buttons of a swap2 opening.
  drawChoices() {
    const opening = this.table.opening && this.game.current.facts?.opening;
    const asked = opening && opening.may_choose && this.table.seats[opening.chooser] === "person";
    $("choices").hidden = !asked;
    if (!asked) return;
    const take = (colour, text) => h("button", { type: "button", onclick: () => this.actions.takeColour(colour) }, text);
    $("choices").replaceChildren(take(0, t("opening.take_black")), take(1, t("opening.take_white")));
  }

  // --- time -------------------------------------------------------------------------------------------------

  tick() {
    this.players.tick(this.table, this.game);
    const ended = this.table.time && !this.game.ended && this.table.flagged(this.game);
    if (ended) this.offers.end(ended);
  }

  // Shows a line as ghost stones, one after the other.
  playThrough(points) {
    this.stopShow();
    this.ghosts = [];
    const step = () => {
      if (this.ghosts.length >= points.length) {
        this.showTimer = setTimeout(() => this.stopShow(), 3 * STEP_MS);
        return;
      }
      this.ghosts = points.slice(0, this.ghosts.length + 1);
      this.drawOverlay();
      this.showTimer = setTimeout(step, STEP_MS);
    };
    step();
  }

  stopShow() {
    clearTimeout(this.showTimer);
    if (!this.ghosts) return;
    this.ghosts = null;
    this.drawOverlay();
  }

  async setLanguage(name) {
    await setLanguage(name);
    this.settings.language = name;
    drawVersions(this);
    this.changed();
  }

  seated() {
    this.table.settle(this.game);
    this.table.paused = false;
    this.game.names = [0, 1].map((colour) => this.table.nameNow(this.game, colour));
    this.changed();
  }
}

await setLanguage(store.settings().language);
window.tengen = new App(); // for curious people, and for the tests
