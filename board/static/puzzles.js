// Puzzles: positions with one way, or a few, to win or to hold. The first move is judged; then Tengen plays on.

import { $, h } from "./dom.js";
import { colourName, t } from "./i18n.js";
import { pointName } from "./names.js";
import { notice } from "./notices.js";
import { Game } from "./tree.js";

const STRONGEST = 10;

export class Puzzles {
  constructor(app) {
    this.app = app;
    this.list = []; // {width, height, rule, moves, goal, good}
    this.game = null; // that of the puzzle
    this.at = 0;
    $("do-puzzles").addEventListener("click", () => this.begin());
    $("puzzle-pick").addEventListener("change", () => this.open(Number($("puzzle-pick").value)));
    $("puzzle-again").addEventListener("click", () => this.open(this.at));
    $("puzzle-solution").addEventListener("click", () => this.solution());
    $("puzzle-next").addEventListener("click", () => this.open((this.at + 1) % this.list.length));
    $("puzzle-close").addEventListener("click", () => this.close());
  }

  get puzzle() {
    return this.list[this.at];
  }

  get solved() {
    return new Set(this.app.settings.solved ?? []);
  }

  async begin() {
    $("dialog-new").close();
    try {
      this.list = await (await fetch("/puzzles.json")).json();
    } catch {
      notice(t("puzzle.not_loaded"), { key: "puzzle", bad: true });
      return;
    }
    const { solved } = this;
    this.open(Math.max(0, this.list.findIndex((puzzle) => !solved.has(puzzle.id))));
  }

  open(at) {
    const { app } = this;
    this.at = at;
    const { width, height, rule, moves } = this.puzzle;
    const game = new Game({ width, height, rule, opening: moves.length });
    for (const point of moves) game.play(point);
    this.game = game;
    this.first = game.current;
    this.good = this.puzzle.good;
    this.right = null;
    const seats = moves.length % 2 ? ["engine", "person"] : ["person", "engine"];
    app.replaceGame(game, { seats, levels: [STRONGEST, STRONGEST], brains: [null, null] });
    game.names = [0, 1].map((colour) => app.table.recordName(colour));
    $("board").focus();
  }

  // A stone was put: the answer, if it is the first one.
  moved(node) {
    if (this.app.game !== this.game || node.parent !== this.first) return;
    this.right = this.good.includes(node.point);
    if (this.right) this.app.settings.solved = [...this.solved.add(this.puzzle.id)];
    else this.app.table.pause(this.game); // the engine does not answer
  }

  solution() {
    const { app } = this;
    app.actions.go(this.first);
    this.right = null;
    const { good } = this;
    app.hint = { node: this.first, point: good[0], points: good, text: () => this.solutionText(), solution: true };
    app.changed();
  }

  solutionText() {
    return t("puzzle.solution_is", { moves: this.good.map((point) => pointName(point, this.game.width)).join(", ") });
  }

  // The board was turned or shifted, and with it what is right; off the board nothing is.
  transform(to) {
    if (this.game === null || this.app.game !== this.game) return;
    this.good = this.good.map(to).filter((point) => point !== null);
    if (!this.good.length) this.game = null;
  }

  close() {
    this.game = null;
    this.app.changed();
  }

  draw() {
    const { app, game } = this;
    $("puzzle").hidden = game === null || app.game !== game;
    if ($("puzzle").hidden) return;
    const { goal, moves } = this.puzzle;
    const values = { colour: colourName(moves.length % 2) };
    const { solved } = this;
    $("puzzle-pick").replaceChildren(...this.list.map(({ id }, i) => h("option", { value: i }, `${i + 1}${solved.has(id) ? " ✓" : ""}`)));
    $("puzzle-pick").value = `${this.at}`;
    $("puzzle-count").textContent = t("puzzle.count", { n: this.list.filter(({ id }) => solved.has(id)).length, all: this.list.length });
    $("puzzle-goal").textContent = goal === "win" ? t("puzzle.win", values) : t("puzzle.hold", values);
    const shown = app.hint?.node === this.first && app.hint.solution;
    $("puzzle-result").textContent = shown ? this.solutionText()
      : this.right === null || game.current === this.first ? ""
        : !this.right ? t("puzzle.wrong") : goal === "win" ? t("puzzle.right_win") : t("puzzle.right");
  }
}
