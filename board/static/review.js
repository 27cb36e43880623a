// The review of a game: requests an evaluation of every move, lists the worst mistakes of both sides.

import { $, h } from "./dom.js";
import { colourName, t } from "./i18n.js";
import { percent, pointName } from "./names.js";

export class Review {
  // on: {go(node)}
  constructor(on) {
    this.on = on;
    this.line = null; // nodes of the game under review
    this.running = false;
    this.done = 0;
    this.worst = [];
  }

  start(game, turnMs) {
    this.line = game.line().slice(1);
    for (const node of this.line) node.judged = null;
    this.running = true;
    this.done = 0;
    this.worst = [];
    this.turnMs = turnMs;
    this.moves = game.moves(this.line[this.line.length - 1]);
    this.opening = Math.min(game.opening, this.line.length);
  }

  stop() {
    this.running = false;
  }

  // Forgets the game that was reviewed; another one is on the board.
  clear() {
    this.line = null;
    this.running = false;
    this.worst = [];
  }

  job(hear) {
    const fields = { game: this.moves, opening: this.opening, turn_ms: this.turnMs };
    return { key: JSON.stringify(["review", fields]), type: "review", fields, hear };
  }

  take(message) {
    if (message.type === "judged") {
      const { before, after, fall, mark, best } = message;
      this.line[message.ply].judged = { before, after, fall, mark, best };
      this.done = message.ply + 1;
    } else if (message.type === "reviewed") {
      this.running = false;
      this.worst = message.worst.map((ply) => this.line[ply]);
    }
  }

  draw(game) {
    const total = this.line?.length ?? 0;
    $("review-start").hidden = this.running;
    $("review-stop").hidden = !this.running;
    $("review-progress").hidden = !this.running;
    $("review-progress").max = Math.max(1, total);
    $("review-progress").value = this.done;
    $("review-start").disabled = game.root.children.length === 0;
    const kept = this.worst.filter((node) => game.holds(node));
    const worst = kept.length ? kept : this.found(game);
    const lists = [0, 1].map((colour) => {
      const nodes = worst.filter((node) => node.colour === colour);
      if (!nodes.length) return null;
      return h("div", { class: "worst" }, h("h3", {}, colourName(colour)), h("ul", {}, nodes.map((node) => this.item(node, game))));
    });
    const clean = !this.running && this.line && this.line.some((node) => node.judged) && !worst.length;
    $("worst").replaceChildren(...lists.filter(Boolean), ...(clean ? [h("p", { class: "quiet" }, t("review.clean"))] : []));
  }

  // Marked moves of the line on the board, as far as they are known (also after a reload).
  found(game) {
    const marked = game.line().filter((node) => node.judged?.mark);
    return [0, 1].flatMap((colour) =>
      marked.filter((node) => node.colour === colour).sort((a, b) => b.judged.fall - a.judged.fall).slice(0, 3),
    );
  }

  item(node, game) {
    const { mark, fall, best } = node.judged;
    return h(
      "li", {},
      h(
        "button", { type: "button", class: "row", onclick: () => this.on.go(node) },
        h("b", { class: mark === "??" ? "blunder" : "mistake" }, mark),
        h("span", {}, `${node.ply}. ${pointName(node.point, game.width)}`),
        h("span", { class: "fall" }, `−${percent(fall)}`),
        h("span", { class: "quiet" }, t("review.better", { point: pointName(best, game.width) })),
      ),
    );
  }
}
