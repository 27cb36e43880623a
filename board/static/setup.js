// Setting up a position: stones of both colours in any number, and who is to move.

import { $ } from "./dom.js";
import { t } from "./i18n.js";
import { notice } from "./notices.js";
import { Game } from "./tree.js";

const ERASE = 2; // a brush that takes stones away

export class SetUp {
  constructor(app) {
    this.app = app;
    this.active = false;
    this.stones = new Map(); // point -> colour
    $("do-setup").addEventListener("click", () => this.begin());
    $("setup-clear").addEventListener("click", () => { this.stones.clear(); app.draw(); });
    $("setup-done").addEventListener("click", () => this.done());
    $("setup-cancel").addEventListener("click", () => this.end());
  }

  get brush() {
    return Number(document.querySelector("input[name=brush]:checked").value);
  }

  // Begins with the position on the board.
  begin() {
    const { app } = this;
    $("dialog-new").close();
    app.stopShow();
    this.game = app.game;
    this.stones = new Map(app.game.path().map((point, i) => [point, i % 2]).filter(([point]) => point >= 0));
    document.querySelector("input[name=brush][value='0']").checked = true;
    $("setup-turn").value = `${app.game.current.ply % 2}`;
    this.show(true);
    app.think(); // a move or an analysis of the game stops
  }

  point(point) {
    const { brush } = this;
    if (brush === ERASE || this.stones.get(point) === brush) this.stones.delete(point);
    else this.stones.set(point, brush);
    this.app.draw();
  }

  // What the board shows, null outside; passes fill up what one colour has more.
  scene() {
    if (this.active && this.app.game !== this.game) this.mark(false); // another one was opened
    if (!this.active) return null;
    const [black, white] = [0, 1].map((colour) => [...this.stones].filter(([, c]) => c === colour).map(([point]) => point));
    const points = [];
    for (let i = 0; i < Math.max(black.length, white.length); i++) points.push(black[i] ?? -1, white[i] ?? -1);
    return { points: [...points, -1], numbers: false };
  }

  async done() {
    const { app } = this;
    const { width, height, rule } = app.game;
    const fields = { game: { width, height, rule, moves: [] }, stones: [...this.stones], to_move: Number($("setup-turn").value) };
    try {
      const game = Game.from(await app.link.ask("setup", fields));
      this.show(false);
      const before = app.state();
      app.replaceGame(game, { seats: ["person", "person"] });
      app.actions.last();
      const run = () => app.restore(before);
      notice(t("setup.started"), { key: "opened", action: { text: t("files.game_before"), run } });
    } catch (error) {
      notice(t("setup.refused", { why: error.message }), { key: "setup", bad: true });
    }
  }

  end() {
    this.show(false);
    this.app.changed();
  }

  show(active) {
    this.mark(active);
    this.app.draw();
    $("board").focus();
  }

  mark(active) {
    this.active = active;
    document.body.classList.toggle("setting-up", active);
    document.querySelector("header nav").inert = active;
    $("setup").hidden = !active;
  }
}
