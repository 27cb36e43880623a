// The board as a drawing: grid, stones, marks. Knows points and colours, nothing of games.

import { svg } from "./dom.js";
import { foul, t } from "./i18n.js";

export const CELL = 40;
const EDGE = 40; // room for coordinates
const MARGIN = 26; // from the outer lines to the edge on the other sides
let serial = 0;

export class BoardView {
  // on: {point(point), hover(point or null)}
  constructor(host, on) {
    this.host = host;
    this.on = on;
    this.id = `board${serial++}`;
    this.aim = null;
    this.svg = svg("svg", { class: "board", role: "img", "data-t-aria-label": "board.label" });
    host.append(this.svg);
    this.layers = {};
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("pointermove", (event) => this.moveTo(event));
    this.svg.addEventListener("pointerup", (event) => this.release(event));
    this.svg.addEventListener("pointerleave", () => this.leave());
    this.svg.addEventListener("pointercancel", () => this.leave());
  }

  setSize(width, height) {
    if (this.width === width && this.height === height) return;
    this.width = width;
    this.height = height;
    this.w = EDGE + (width - 1) * CELL + MARGIN;
    this.h = EDGE + (height - 1) * CELL + MARGIN;
    this.svg.setAttribute("viewBox", `0 0 ${this.w} ${this.h}`);
    this.host.dataset.ratio = `${this.w / this.h}`;
    const names = ["heat", "stones", "forbidden", "marks", "chances", "ghosts", "cursor"];
    this.layers = Object.fromEntries(names.map((name) => [name, svg("g", { class: name })]));
    this.svg.replaceChildren(this.defs(), this.wood(), this.grid(), ...Object.values(this.layers));
  }

  x(point) {
    return EDGE + (point % this.width) * CELL;
  }

  y(point) {
    return EDGE + Math.floor(point / this.width) * CELL;
  }

  defs() {
    const ball = (name, stops) =>
      svg(
        "radialGradient",
        { id: `${this.id}-${name}`, cx: "36%", cy: "30%", r: "72%" },
        stops.map(([offset, colour]) => svg("stop", { offset, "stop-color": colour })),
      );
    return svg(
      "defs",
      {},
      ball("black", [["0", "#6b7078"], ["0.35", "#33373d"], ["1", "#0b0c0e"]]),
      ball("white", [["0", "#ffffff"], ["0.6", "#f3f1ec"], ["1", "#c9c5bb"]]),
    );
  }

  wood() {
    return svg("rect", { class: "wood", x: 0, y: 0, width: this.w, height: this.h, rx: 10 });
  }

  grid() {
    const right = EDGE + (this.width - 1) * CELL;
    const bottom = EDGE + (this.height - 1) * CELL;
    const lines = [];
    for (let x = 1; x < this.width - 1; x++) lines.push(`M${EDGE + x * CELL} ${EDGE}V${bottom}`);
    for (let y = 1; y < this.height - 1; y++) lines.push(`M${EDGE} ${EDGE + y * CELL}H${right}`);
    const names = [];
    for (let x = 0; x < this.width; x++) {
      names.push(svg("text", { class: "coord", x: EDGE + x * CELL, y: 13 }, String.fromCharCode(97 + x)));
    }
    for (let y = 0; y < this.height; y++) {
      names.push(svg("text", { class: "coord", x: 13, y: EDGE + y * CELL + 0.5 }, `${y + 1}`));
    }
    return svg(
      "g",
      {},
      svg("path", { class: "lines", d: lines.join("") }),
      svg("rect", { class: "frame", x: EDGE, y: EDGE, width: right - EDGE, height: bottom - EDGE }),
      this.stars().map(([x, y]) => svg("circle", { class: "star", cx: EDGE + x * CELL, cy: EDGE + y * CELL, r: 4 })),
      names,
    );
  }

  stars() {
    const { width, height } = this;
    const inset = (side) => (side >= 13 ? 3 : side >= 9 ? 2 : 0);
    const columns = inset(width) ? [inset(width), width - 1 - inset(width)] : [];
    const rows = inset(height) ? [inset(height), height - 1 - inset(height)] : [];
    const found = columns.flatMap((x) => rows.map((y) => [x, y]));
    if (width % 2 && height % 2) found.push([(width - 1) / 2, (height - 1) / 2]);
    return found;
  }

  stone(point, colour, extra = "") {
    const name = colour === 0 ? "black" : "white";
    const [cx, cy] = [this.x(point), this.y(point)];
    return svg(
      "g",
      { class: `stone ${name}${extra}`, "data-point": point },
      svg("circle", { class: "shadow", cx: cx + 1.2, cy: cy + 2.4, r: 18.2 }),
      svg("circle", { class: "ball", cx, cy, r: 18, fill: `url(#${this.id}-${name})` }),
    );
  }

  text(point, content, attributes) {
    return svg("text", { x: this.x(point), y: this.y(point) + 0.5, ...attributes }, content);
  }

  // scene: {points, numbers, last, five, forbidden: {point: reason}, mark: text beside the last stone}
  draw(scene) {
    const { stones, marks, forbidden } = this.layers;
    const five = new Set(scene.five ?? []);
    stones.replaceChildren(
      ...scene.points.map((point, i) => this.stone(point, i % 2, five.has(point) ? " five" : "")),
    );
    const found = [];
    for (const point of five) found.push(svg("circle", { class: "ring", cx: this.x(point), cy: this.y(point), r: 19 }));
    const last = scene.points.length - 1;
    for (const [i, point] of scene.points.entries()) {
      const side = i % 2 ? "on-white" : "on-black";
      if (scene.numbers) {
        const size = i >= 99 ? 14 : 17;
        found.push(this.text(point, `${i + 1}`, { class: `number ${side}${i === last ? " last" : ""}`, "font-size": size }));
      } else if (i === last) {
        found.push(svg("circle", { class: "latest", cx: this.x(point), cy: this.y(point), r: 5.5 }));
      }
    }
    if (scene.mark && last >= 0) found.push(this.badge(scene.points[last], scene.mark));
    marks.replaceChildren(...found);
    forbidden.replaceChildren(
      ...Object.entries(scene.forbidden ?? {}).map(([point, reason]) => this.cross(Number(point), reason)),
    );
  }

  badge(point, mark) {
    const [x, y] = [this.x(point) + 13, this.y(point) - 13];
    const kind = mark === "??" ? "blunder" : "mistake";
    return svg(
      "g",
      { class: `badge ${kind}` },
      svg("circle", { cx: x, cy: y, r: 9.5 }),
      svg("text", { x, y: y + 0.5, "font-size": 11.5 }, mark),
    );
  }

  cross(point, reason) {
    const [x, y] = [this.x(point), this.y(point)];
    return svg(
      "g",
      { class: "foul", "data-point": point },
      svg("title", {}, t("move.forbidden_mark", { reason: foul(reason) })),
      svg("path", { d: `M${x - 7} ${y - 7}L${x + 7} ${y + 7}M${x + 7} ${y - 7}L${x - 7} ${y + 7}` }),
    );
  }

  // The point that the mouse or the keyboard aims at, with a faint stone of the side to move.
  showAim(point, colour, cross = false) {
    const parts = [];
    if (point !== null && point !== undefined) {
      if (cross) {
        const [x, y] = [this.x(point), this.y(point)];
        parts.push(svg("path", { class: "crosshair", d: `M${x} ${EDGE}V${this.h - MARGIN}M${EDGE} ${y}H${this.w - MARGIN}` }));
      }
      const stone = this.stone(point, colour ?? 0, " aim");
      stone.removeAttribute("data-point");
      parts.push(stone);
    }
    this.layers.cursor.replaceChildren(...parts);
  }

  pointAt(event) {
    const box = this.svg.getBoundingClientRect();
    const column = Math.round((((event.clientX - box.left) / box.width) * this.w - EDGE) / CELL);
    const row = Math.round((((event.clientY - box.top) / box.height) * this.h - EDGE) / CELL);
    const inside = column >= 0 && row >= 0 && column < this.width && row < this.height;
    return inside ? row * this.width + column : null;
  }

  // A mouse plays where it is pressed; a finger aims while it is down and plays where it leaves the glass.
  press(event) {
    if (event.button !== 0) return;
    if (event.pointerType === "touch") {
      event.preventDefault();
      this.svg.setPointerCapture(event.pointerId);
      this.aim = this.pointAt(event);
      this.on.aim(this.aim);
      return;
    }
    const point = this.pointAt(event);
    if (point !== null) this.on.point(point);
  }

  moveTo(event) {
    const point = this.pointAt(event);
    if (event.pointerType === "touch") {
      if (this.aim === null && !this.svg.hasPointerCapture(event.pointerId)) return;
      this.aim = point;
      this.on.aim(point);
    } else {
      this.on.hover(point);
    }
  }

  release(event) {
    if (event.pointerType !== "touch") return;
    const point = this.pointAt(event);
    this.aim = null;
    this.on.aim(null);
    if (point !== null) this.on.point(point);
  }

  leave() {
    this.aim = null;
    this.on.hover(null);
    this.on.aim(null);
  }
}
