// Black's chances by move: a curve to click on, with the mistakes of both sides.

import { $, h, svg } from "./dom.js";

const WIDTH = 600;
const HEIGHT = 120;
const PAD = 8;

export class Curve {
  // on: {go(node)}
  constructor(on) {
    this.on = on;
    this.svg = svg("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "data-t-aria-label": "game.curve" });
    $("curve").append(this.svg);
    this.line = [];
    this.svg.addEventListener("click", (event) => this.click(event));
    this.svg.addEventListener("pointermove", (event) => { if (event.buttons & 1) this.click(event); });
  }

  draw(game) {
    this.line = game.line();
    const last = Math.max(1, this.line.length - 1);
    const x = (i) => PAD + ((WIDTH - 2 * PAD) * i) / last;
    const y = (score) => PAD + (HEIGHT - 2 * PAD) * (1 - score);
    const known = this.line.map((node, i) => [i, node.score]).filter(([, value]) => value !== null);
    $("curve").hidden = known.length < 2;
    const here = this.line.indexOf(game.current);
    const d = known.map(([i, value], n) => `${n ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    const parts = [svg("line", { class: "even", x1: 0, x2: WIDTH, y1: y(0.5), y2: y(0.5) })];
    if (known.length > 1) {
      const [first] = known[0];
      const [end] = known[known.length - 1];
      parts.push(svg("path", { class: "area", d: `${d}L${x(end).toFixed(1)} ${HEIGHT}L${x(first).toFixed(1)} ${HEIGHT}Z` }));
      parts.push(svg("path", { class: "run", d }));
    }
    parts.push(svg("line", { class: "here", x1: x(here), x2: x(here), y1: 0, y2: HEIGHT }));
    this.svg.replaceChildren(...parts);
    // Dots are no part of the stretched drawing, so that they stay round.
    const dots = this.line.flatMap((node, i) => {
      if (!node.judged?.mark) return [];
      const dot = h("button", {
        type: "button", class: `dot ${node.judged.mark === "??" ? "blunder" : "mistake"}${node.colour ? " white" : ""}`,
        title: `${node.ply}. ${node.judged.mark}`, tabindex: -1, onclick: () => this.on.go(node),
      });
      dot.style.left = `${(100 * x(i)) / WIDTH}%`;
      dot.style.top = `${(100 * y(node.judged.after)) / HEIGHT}%`;
      return [dot];
    });
    $("dots").replaceChildren(...dots);
  }

  click(event) {
    const box = this.svg.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width * WIDTH - PAD) / (WIDTH - 2 * PAD);
    const i = Math.round(share * (this.line.length - 1));
    const node = this.line[Math.min(this.line.length - 1, Math.max(0, i))];
    if (node) this.on.go(node);
  }
}
