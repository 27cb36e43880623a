// Ends of a game that players offer: resigning and draws.

import { side, t } from "./i18n.js";
import { drawJob } from "./jobs.js";
import { notice } from "./notices.js";
import { endSound } from "./sound.js";

const WORSE = 0.4; // expected score of an engine that takes any draw
const [DRAWN, EVEN] = [0.4, 0.55]; // chance of a draw, and expected score, where it agrees to one

export class Offers {
  constructor(app) {
    this.app = app;
  }

  // The person who may resign or offer a draw now, null for nobody.
  get person() {
    const { game, table } = this.app;
    const { facts, children, ply } = game.current;
    if (!facts || facts.over || game.ended || table.opening || children.length || !ply) return null;
    if (table.seats[facts.to_move] === "person") return facts.to_move;
    return table.seats[1 - facts.to_move] === "person" ? 1 - facts.to_move : null;
  }

  // ended: {winner, why}
  end(ended) {
    const { app } = this;
    app.hint = null;
    app.table.forced = null;
    app.table.end(app.game, ended);
    if (app.settings.sound) endSound();
    app.changed();
  }

  resign() {
    const colour = this.person;
    if (colour === null) return;
    const run = () => { if (this.person !== null) this.end({ winner: 1 - colour, why: "resign" }); };
    notice(t("resign.sure"), { key: "offer", action: { text: t("resign.do"), run } });
  }

  draw() {
    const { app } = this;
    const colour = this.person;
    if (colour === null) return;
    if (app.table.seats[1 - colour] === "engine") {
      this.askEngine(1 - colour);
      return;
    }
    const run = () => { if (this.person !== null) this.end({ winner: 2, why: "draw" }); };
    notice(t(`draw.offered.${side(colour)}`), { key: "offer", action: { text: t("draw.agree"), run } });
  }

  askEngine(engine) {
    const { app } = this;
    if (app.table.isDue(app.game)) {
      notice(t("draw.later"), { key: "offer" });
      return;
    }
    app.hint = { node: app.game.current, point: null, job: (node) => drawJob(app, node, engine), waits: () => t("draw.asked") };
    app.changed();
  }

  // The engine takes a draw where it is worse, or where the game is likely drawn and it is not better.
  answer([black, draw, white], engine) {
    const score = (engine === 0 ? black : white) + draw / 2;
    if (score < WORSE || (draw >= DRAWN && score <= EVEN)) {
      this.end({ winner: 2, why: "draw" });
      return;
    }
    notice(t("draw.declined"), { key: "offer" });
    this.app.changed();
  }
}
