// A game that teaches: bad moves of a person against the engine are taken back.

import { t } from "./i18n.js";
import { percentSign, pointName } from "./names.js";
import { notice } from "./notices.js";

// Takes a move that was judged bad off the board; the message offers to play it nevertheless.
export function takeBadMoveBack(app, node) {
  const { game, table } = app;
  const { colour, point, judged } = node;
  if (!judged?.mark || node.children.length || table.seats[colour] !== "person" || table.seats[1 - colour] !== "engine") return;
  const to = node.parent;
  game.remove(node);
  table.turn(to);
  const run = () => { if (game === app.game && game.current === to) app.actions.put(point, node.ms, judged); };
  const values = { point: pointName(point, game.width), loss: percentSign(judged.fall) };
  notice(t("teach.taken_back", values), { key: "teach", action: { text: t("teach.keep"), run }, stays: true });
}
