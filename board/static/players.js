// The two players: who they are, whose turn it is, their clocks.

import { $, h } from "./dom.js";
import { COLOURS, clock } from "./names.js";

export class Players {
  constructor() {
    this.cards = COLOURS.map((name, colour) => {
      const card = {
        who: h("strong", {}),
        sub: h("span", { class: "sub" }, name),
        time: h("time", { class: "clock" }),
      };
      card.box = h(
        "div",
        { class: `player ${colour ? "white" : "black"}` },
        h("span", { class: "disk", "aria-hidden": "true" }),
        h("div", { class: "who" }, card.who, card.sub),
        card.time,
      );
      return card;
    });
    $("players").append(...this.cards.map((card) => card.box));
  }

  draw(table, game, thinking) {
    const { facts } = game.current;
    const over = facts?.over || game.ended;
    const winner = game.ended ? game.ended.winner : facts?.over ? facts.winner : null;
    for (const [colour, card] of this.cards.entries()) {
      const person = table.seats[colour] === "person";
      card.who.textContent = person && table.seats[1 - colour] === "person" ? COLOURS[colour] : table.name(colour);
      card.sub.textContent = winner === colour ? `${COLOURS[colour]} · won` : COLOURS[colour];
      const turn = facts && !over && table.toAct(facts) === colour;
      card.box.classList.toggle("turn", Boolean(turn));
      card.box.classList.toggle("won", winner === colour);
      card.box.classList.toggle("thinking", Boolean(turn && thinking));
    }
    this.tick(table, game);
  }

  tick(table, game) {
    const left = table.time ? table.lefts(game) : null;
    for (const [colour, card] of this.cards.entries()) {
      card.time.textContent = left ? clock(left[colour]) : "";
      card.time.classList.toggle("short", Boolean(left && left[colour] < 10_000));
    }
  }
}
