// The two players: who they are, whose turn it is, their clocks.

import { $, h } from "./dom.js";
import { colourName, t } from "./i18n.js";
import { clock } from "./names.js";

export class Players {
  constructor() {
    this.cards = [0, 1].map((colour) => {
      const card = {
        who: h("strong", {}),
        sub: h("span", { class: "sub" }),
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
      const two = !table.seats.includes("engine");
      card.who.textContent = card.who.title = table.shownName(game, colour);
      const sub = two && card.who.textContent === colourName(colour) ? t("seat.person") : colourName(colour);
      card.sub.textContent = winner === colour ? t("players.won", { name: sub }) : sub;
      const turn = facts && !over && table.toAct(facts) === colour;
      card.box.classList.toggle("turn", Boolean(turn));
      if (turn) card.box.setAttribute("aria-current", "true");
      else card.box.removeAttribute("aria-current");
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
