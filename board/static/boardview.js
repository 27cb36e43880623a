// The board as a drawing: grid, stones, marks. Knows points and colours, nothing of games.

import { svg } from "./dom.js";
import { Gestures } from "./gestures.js";
import { foul, t } from "./i18n.js";
import { rowName } from "./names.js";

export const CELL = 40;
const MAX_ZOOM = 5;
const EDGE = 40; // room for coordinates
const MARGIN = 26; // from the outer lines to the edge on the other sides
let serial = 0;

export class BoardView {
  // on: {zoomed(whether), and what gestures call}
  constructor(host, on) {
    this.host = host;
    this.on = on;
    this.id = `board${serial++}`;
    this.svg = svg("svg", { class: "board", role: "img", "data-t-aria-label": "board.label" });
    host.append(this.svg);
    this.layers = {};
    this.gestures = new Gestures(this, on);
  }

  // rows: where row 1 is, "top" or "bottom".
  setSize(width, height, rows) {
    if (this.width === width && this.height === height && this.rows === rows) return;
    this.rows = rows;
    this.width = width;
    this.height = height;
    this.w = EDGE + (width - 1) * CELL + MARGIN;
    this.h = EDGE + (height - 1) * CELL + MARGIN;
    this.svg.dataset.whole = `0 0 ${this.w} ${this.h}`;
    this.setBox(0, 0, 1);
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
      names.push(svg("text", { class: "coord", x: 13, y: EDGE + y * CELL + 0.5 }, rowName(y)));
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

  // scene: {points, numbers, last, five, forbidden: {point: reason}, mark: text beside the last stone,
  // dots: {point: how good the move was}}
  draw(scene) {
    const { stones, marks, forbidden } = this.layers;
    const position = scene.points.join();
    if (position !== this.position) {
      this.position = position;
      this.gestures.cancel();
      this.showAim(null);
      if (scene.points.at(-1) >= 0) this.reveal(scene.points.at(-1));
    }
    const five = new Set(scene.five ?? []);
    stones.replaceChildren(
      ...scene.points.flatMap((point, i) => (point < 0 ? [] : this.stone(point, i % 2, five.has(point) ? " five" : ""))),
    );
    const found = [];
    for (const point of five) found.push(svg("circle", { class: "ring", cx: this.x(point), cy: this.y(point), r: 19 }));
    const last = scene.points.length - 1;
    for (const [i, point] of scene.points.entries()) {
      if (point < 0) continue; // a pass
      const side = i % 2 ? "on-white" : "on-black";
      if (scene.numbers) {
        const size = i >= 99 ? 14 : 17;
        found.push(this.text(point, `${i + 1}`, { class: `number ${side}${i === last ? " last" : ""}`, "font-size": size }));
      } else if (i === last) {
        found.push(svg("circle", { class: "latest", cx: this.x(point), cy: this.y(point), r: 5.5 }));
      }
    }
    for (const [point, quality] of Object.entries(scene.dots ?? {})) {
      const [cx, cy] = [this.x(Number(point)) + 11.5, this.y(Number(point)) + 11.5];
      found.push(svg("circle", { class: `quality ${quality}`, cx, cy, r: 5.2 }));
    }
    if (scene.mark && scene.points[last] >= 0) found.push(this.badge(scene.points[last], scene.mark));
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

  // --- what is seen of it -----------------------------------------------------------------------------------

  // Shows the part from (x, y), `zoom` times as large as the whole.
  setBox(x, y, zoom) {
    const [w, h] = [this.w / zoom, this.h / zoom];
    const inside = (at, size, whole) => Math.min(whole - size, Math.max(0, at));
    this.box = { x: inside(x, w, this.w), y: inside(y, h, this.h), w, h, zoom };
    this.svg.setAttribute("viewBox", `${this.box.x} ${this.box.y} ${w} ${h}`);
    this.on.zoomed(zoom > 1);
  }

  get cellPx() {
    return (this.svg.getBoundingClientRect().width / this.box.w) * CELL;
  }

  // A place on the screen in the drawing's units.
  place(clientX, clientY) {
    const { left, top, width, height } = this.svg.getBoundingClientRect();
    const { box } = this;
    return [box.x + ((clientX - left) / width) * box.w, box.y + ((clientY - top) / height) * box.h];
  }

  // Makes it larger by a factor and moves what is at `from` on the screen to `to`.
  zoomBy(factor, from, to = from) {
    const { left, top, width, height } = this.svg.getBoundingClientRect();
    const [x, y] = this.place(...from);
    const zoom = Math.min(MAX_ZOOM, Math.max(1, this.box.zoom * factor));
    this.setBox(x - ((to[0] - left) / width) * (this.w / zoom), y - ((to[1] - top) / height) * (this.h / zoom), zoom);
  }

  zoomAtMiddle(factor) {
    const { left, top, width, height } = this.svg.getBoundingClientRect();
    this.zoomBy(factor, [left + width / 2, top + height / 2]);
  }

  // Moves an enlarged board so far that a point is seen.
  reveal(point) {
    const { x, y, w, h, zoom } = this.box;
    const near = (at, from, size) => Math.max(at + CELL - size, Math.min(at - CELL, from));
    if (zoom > 1) this.setBox(near(this.x(point), x, w), near(this.y(point), y, h), zoom);
  }

  pointAt(clientX, clientY) {
    const [x, y] = this.place(clientX, clientY);
    const [column, row] = [Math.round((x - EDGE) / CELL), Math.round((y - EDGE) / CELL)];
    const inside = column >= 0 && row >= 0 && column < this.width && row < this.height;
    return inside ? row * this.width + column : null;
  }
}
