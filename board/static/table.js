// Who plays, by which clock, and whose turn it is. Asks the engine for its moves.

import { colourName, side, t } from "./i18n.js";
import { pointName } from "./names.js";

const STRONGEST = 10;
const OPENING_STONES = 5; // of swap2
const ASKED = [0, 3, 5]; // stones at which swap2 asks; between them a stone is a move
const FORCED_MS = 350; // at least so long between two moves of the engine against itself

// Whether a name says more than that somebody sits there.
function isOwnName(name) {
  return !["", "black", "white", "human"].includes(name.trim().toLowerCase());
}

export class Table {
  static brainNames = []; // other brains that the server offers

  constructor(kept = {}) {
    this.seats = kept.seats ?? ["person", "engine"];
    this.levels = kept.levels ?? [5, 5];
    this.brains = kept.brains ?? [null, null]; // number of another brain that has the engine's seat
    this.turnMs = kept.turnMs ?? 3000; // longest thought of the engine
    this.time = kept.time ?? null; // {mainMs, incrementMs} or null without clocks
    this.left = kept.left ?? null; // of both clocks, ms
    this.opening = kept.opening ?? false; // a swap2 opening is not settled yet
    this.paused = kept.paused ?? false;
    this.away = false; // the connection is lost while the engine is to move
    this.forced = null; // node at which the engine was told to move
    this.since = performance.now(); // when the running turn began
  }

  toJSON() {
    const { seats, levels, brains, turnMs, time, left, opening, paused } = this;
    return { seats, levels, brains, turnMs, time, left: this.time ? this.lefts() : left, opening, paused };
  }

  name(colour) {
    return this.seats[colour] === "person" ? t("players.you") : this.brainName(colour) ?? `Tengen ${this.levels[colour]}`;
  }

  recordName(colour) {
    return this.seats[colour] === "person" ? "human" : this.brainName(colour) ?? `Tengen level ${this.levels[colour]}`;
  }

  // The name of the other brain in a seat; null where Tengen or a person is.
  brainName(colour) {
    const brain = this.seats[colour] === "engine" ? this.brains[colour] : null;
    return brain === null ? null : Table.brainNames[brain] ?? null;
  }

  // What a player is called on the page: by the game's record where that has a name of its own.
  shownName(game, colour) {
    const [own, twoPersons] = [isOwnName(game.names[colour]), !this.seats.includes("engine")];
    if (this.seats[colour] === "person" && own) return game.names[colour];
    return this.seats[colour] === "person" && twoPersons ? colourName(colour) : this.name(colour);
  }

  // What the record calls a player from now on: a person keeps a name that the record has already.
  nameNow(game, colour) {
    const kept = game.names[colour];
    const keeps = this.seats[colour] === "person" && isOwnName(kept) && !/^Tengen level \d+$/.test(kept)
      && !Table.brainNames.includes(kept);
    return keeps ? kept : this.recordName(colour);
  }

  get watching() {
    return this.seats.every((seat) => seat === "engine");
  }

  // Whether a swap2 opening is still to be settled here; a line that was added to the game may be longer.
  isOpening(node) {
    return this.opening && node.ply <= OPENING_STONES;
  }

  // The seat that is asked next; in an opening not the colour to move.
  toAct(facts) {
    return this.opening && facts.opening ? facts.opening.chooser : facts.to_move;
  }

  // Whether the engine has to act at this node.
  isDue(game) {
    const node = game.current;
    const { facts } = node;
    if (!facts || facts.over || game.ended) return false;
    if (this.forced === node) return true;
    if (this.paused || node.children.length) return false;
    return this.seats[this.toAct(facts)] === "engine";
  }

  // Whether the engine, at full strength alone, may think in a person's time.
  mayPonder(game) {
    const { facts, children, ply } = game.current;
    if (!facts || facts.over || game.ended || this.opening || this.paused || children.length || !ply) return false;
    return this.seats[facts.to_move] === "person" && this.seats[1 - facts.to_move] === "engine"
      && this.levels[1 - facts.to_move] === STRONGEST && this.brainName(1 - facts.to_move) === null;
  }

  // The request that this turn of the engine needs; `act` takes its answer.
  job(game, act) {
    const node = game.current;
    const { facts } = node;
    const seat = this.toAct(facts);
    const swap2 = this.isOpening(node) && ASKED.includes(node.ply);
    const fields = { game: game.moves(), level: this.levels[seat], turn_ms: this.turnMs };
    if (!swap2 && this.brainName(seat) !== null) fields.brain = this.brains[seat];
    if (!swap2 && this.time) {
      fields.left_ms = Math.round(this.lefts()[facts.to_move]);
      fields.increment_ms = this.time.incrementMs;
    }
    const asked = performance.now();
    const hear = (message) => {
      const wait = this.watching && !this.forced ? FORCED_MS - (performance.now() - asked) : 0;
      if (message.type === "analysis" || wait <= 0) act(message, node);
      else setTimeout(() => act(message, node), wait);
    };
    const { left_ms, ...settings } = fields; // a running clock makes no new request
    return { key: JSON.stringify([swap2 ? "swap2" : "think", settings]), type: swap2 ? "swap2" : "think", fields, hear };
  }

  // --- clocks -----------------------------------------------------------------------------------------------

  // Starts the turn of the side to move at a node.
  turn(node) {
    this.since = performance.now();
    if (this.time) this.left = node.clocks ? [...node.clocks] : [this.time.mainMs, this.time.mainMs];
  }

  // Takes what the running clock has used off it, for good; it runs on from now.
  settle(game) {
    if (!this.time) return;
    this.left = this.lefts(game).map((ms) => Math.max(0, ms));
    if (game.current.ply > 0) game.current.clocks = [...this.left];
    this.since = performance.now();
  }

  pause(game) {
    this.settle(game);
    this.paused = true;
  }

  // Without the server the engine cannot move: no clock runs until the connection is back.
  leave(game) {
    this.settle(game);
    this.away = true;
  }

  comeBack() {
    if (this.away) this.since = performance.now();
    this.away = false;
  }

  goOn() {
    this.since = performance.now();
    this.paused = false;
  }

  // Ends the game off the board; the clocks stay as they are now.
  end(game, ended) {
    this.settle(game);
    game.ended = ended;
  }

  // Whose clock runs: none before the first stone, after the end, or away from the end of the line.
  running(game) {
    const node = game.current;
    const { facts } = node;
    const still = !this.time || !facts || facts.over || game.ended || this.opening || this.paused || this.away;
    return still || node.ply === 0 || node.children.length ? null : facts.to_move;
  }

  lefts(game = null) {
    if (!this.left) return [0, 0];
    const left = [...this.left];
    const running = game ? this.running(game) : this.runningNow;
    this.runningNow = running ?? null;
    if (running !== null && running !== undefined) left[running] -= performance.now() - this.since;
    return left;
  }

  // What the mover has left after a move, increment included.
  clocksAfter(game, colour) {
    if (!this.time) return null;
    const left = this.lefts(game);
    if (this.running(game) !== null) left[colour] += this.time.incrementMs;
    return left;
  }

  // Ends the game of a player without time; returns who wins and why, null while there is time.
  flagged(game) {
    const running = this.running(game);
    if (running === null || this.lefts(game)[running] > 0) return null;
    return { winner: 1 - running, why: "time" };
  }

  exchange() {
    this.seats.reverse();
    this.levels.reverse();
    this.brains.reverse();
  }

  // How the game ended, as a sentence; null while it goes on.
  result(game) {
    const { facts } = game.current;
    if (game.ended?.why === "time") return t(`result.time.${side(1 - game.ended.winner)}`);
    if (game.ended?.why === "resign") return t(`result.resign.${side(1 - game.ended.winner)}`);
    if (game.ended?.why === "draw") return t("result.agreed");
    if (game.ended?.why === "other") return t(`result.other.${side(game.ended.winner)}`);
    if (game.ended) return game.ended.text; // kept by an older version
    if (!facts?.over) return null;
    if (facts.ending === "draw") return t("result.draw");
    const values = { colour: colourName(facts.winner), n: game.path().filter((point) => point >= 0).length };
    return facts.ending === "forbidden" ? t("result.forbidden", values) : t("result.five", values);
  }

  // What a swap2 opening asks.
  question({ chooser, may_choose, most }, ply) {
    if (this.seats[chooser] === "engine") return t("opening.engine");
    if (may_choose) return most > 1 ? t("opening.choose_or_put") : t("opening.choose");
    return ply < 3 ? t("opening.put", { n: most }) : t("opening.put_last");
  }

  // What the status line says.
  status(game, thinking) {
    const { facts } = game.current;
    const result = this.result(game);
    if (result !== null) return result;
    if (!facts) return t("status.wait");
    const colour = colourName(facts.to_move);
    if (this.isOpening(game.current) && facts.opening) return t("opening.swap2", { what: this.question(facts.opening, game.current.ply) });
    if (thinking && this.brainName(facts.to_move) !== null) return t("status.brain_thinks", { colour, name: this.brainName(facts.to_move) });
    if (thinking) return t("status.thinks", { colour, level: this.levels[facts.to_move] });
    if (this.seats[facts.to_move] === "engine") {
      return game.current.children.length ? t("status.to_move", { colour }) : t("status.engine_to_move", { colour });
    }
    const next = this.seats[1 - facts.to_move] === "engine" ? t("status.your_move") : t("status.to_move", { colour });
    if (!game.current.parent) return next;
    const point = pointName(game.current.point, game.width);
    return `${t("status.played", { colour: colourName(game.current.colour), point })} ${next}`;
  }
}
