// What the engine thinks, drawn on the board: chances, visits or heat of moves, lines as ghost stones.

import { svg } from "./dom.js";
import { percent, short } from "./names.js";

export const SHOWS = ["chances", "visits", "heat", "off"];
const FEW = 12; // more defences than this tell nothing
const [GREEN, RED] = [152, 7];
const MUCH = 0.25; // a move that gives away so much is as red as it gets

// From green for a good move to red for a bad one, as a hue: by what is proven; else by how much the move gives away
// against the best one, and by how near it is to lost.
export function hue(move, best, toMove) {
  let bad = Math.max((best - move.score) / MUCH, 1 - 2 * move.score);
  if (move.proven === 2) bad = 0.5;
  else if (move.proven !== null) bad = move.proven === toMove ? 0 : 1;
  return Math.round(GREEN - (GREEN - RED) * Math.min(1, Math.max(0, bad)));
}

export class Overlay {
  constructor(view) {
    this.view = view;
  }

  clear() {
    for (const name of ["heat", "chances", "ghosts"]) this.view.layers[name]?.replaceChildren();
  }

  // found: the last analysis; hovered: a move of it whose line is shown; taken: points with stones.
  // better: a point, or several; instead: the colour that should have played there, null where it can still be played.
  draw({ found, show, hovered, ghosts, taken, toMove, defences, threat, better, instead }) {
    this.toMove = toMove;
    const { heat, chances, ghosts: ghostLayer } = this.view.layers;
    const line = ghosts ?? hovered?.pv ?? null;
    const moves = (found?.moves ?? []).filter((move) => !taken.has(move.point));
    heat.replaceChildren(...this.heat(moves, line ? "off" : show));
    const marks = line ? [] : this.defences(defences, threat, taken);
    for (const point of line ? [] : [better ?? []].flat()) if (!taken.has(point)) marks.push(...this.better(point, instead));
    chances.replaceChildren(...marks, ...(line ? [] : this.discs(moves, show)));
    ghostLayer.replaceChildren(...(line ? this.ghosts(line, toMove, taken) : []));
  }

  score(move, toMove) {
    if (move.proven === null) return percent(move.score);
    if (move.proven === 2) return "=";
    return `${move.proven === toMove ? "+" : "−"}${move.distance ?? ""}`;
  }

  discs(moves, show) {
    if (show === "off" || show === "heat" || moves.length === 0) return [];
    const best = moves[0].score;
    const most = Math.max(1, ...moves.map((move) => move.visits));
    return moves.map((move, i) => {
      const { view } = this;
      const share = move.visits / most;
      if (i > 0 && share < 0.004 && move.proven === null) return null;
      const [cx, cy] = [view.x(move.point), view.y(move.point)];
      const text = show === "visits" ? short(move.visits) : this.score(move, this.toMove);
      const below = show === "visits" ? null : short(move.visits);
      return svg(
        "g",
        { class: `disc${i === 0 ? " best" : ""}`, "data-point": move.point, opacity: i === 0 ? 1 : 0.55 + 0.45 * Math.sqrt(share) },
        svg("circle", { cx, cy, r: 17.5, fill: `hsl(${hue(move, best, this.toMove)} 58% 40%)` }),
        svg("text", { class: "value", x: cx, y: below ? cy - 4 : cy + 0.5, "font-size": text.length > 3 ? 12 : 15 }, text),
        below && svg("text", { class: "visits", x: cx, y: cy + 9.5, "font-size": 9.5 }, below),
      );
    }).filter(Boolean);
  }

  heat(moves, show) {
    if (show !== "heat") return [];
    const most = Math.max(1, ...moves.map((move) => move.visits));
    const best = moves[0]?.score ?? 0;
    return moves.map((move) =>
      svg("rect", {
        x: this.view.x(move.point) - 20, y: this.view.y(move.point) - 20, width: 40, height: 40, rx: 6,
        fill: `hsl(${hue(move, best, this.toMove)} 70% 42%)`, opacity: 0.12 + 0.7 * Math.sqrt(move.visits / most),
      }),
    );
  }

  ghosts(line, toMove, taken) {
    const seen = new Set(taken);
    const parts = [];
    for (const [i, point] of line.entries()) {
      if (seen.has(point)) break; // of an older position
      seen.add(point);
      const colour = (toMove + i) % 2;
      const stone = this.view.stone(point, colour, " ghost");
      stone.removeAttribute("data-point");
      stone.append(
        this.view.text(point, `${i + 1}`, { class: `number ${colour ? "on-white" : "on-black"}`, "font-size": 16 }),
      );
      parts.push(stone);
    }
    return parts;
  }

  // Where the side to move can still stop the threat, and where the threat begins.
  defences(points, threat, taken) {
    const parts = [];
    if (threat && !taken.has(threat.line[0])) {
      const [x, y] = [this.view.x(threat.line[0]), this.view.y(threat.line[0])];
      parts.push(svg("path", { class: "danger", d: `M${x} ${y - 13}L${x + 12} ${y + 9}H${x - 12}Z` }));
    }
    for (const point of (points?.length ?? 0) <= FEW ? points ?? [] : []) {
      if (taken.has(point)) continue;
      parts.push(svg("rect", { class: "defence", x: this.view.x(point) - 18.5, y: this.view.y(point) - 18.5, width: 37, height: 37, rx: 7 }));
    }
    return parts;
  }

  better(point, instead) {
    const ring = svg("circle", { class: "better", cx: this.view.x(point), cy: this.view.y(point), r: 15 });
    if (instead === null) return [ring];
    const stone = this.view.stone(point, instead, " ghost");
    stone.removeAttribute("data-point");
    return [stone, ring];
  }
}
