// The live analysis: what was found, and the card that shows it.

import { $, h } from "./dom.js";
import { colourName, language, t } from "./i18n.js";
import { lineName, percentSign, pointName, rowName, short } from "./names.js";
import { hue } from "./overlay.js";

export class Analysis {
  // on: {hover(move or null), play(move), addLine(points), playThrough(points)}
  constructor(on) {
    this.on = on;
    this.found = null;
    this.threat = null;
    this.node = null;
    this.rows = [];
  }

  // The request for a position; `hear` takes its answers. limits: {lines, limitMs, limitNodes}, 0 for none.
  job(game, limits, hear) {
    const fields = { game: game.moves(), lines: limits.lines };
    if (limits.limitMs) fields.limit_ms = limits.limitMs;
    if (limits.limitNodes) fields.max_nodes = limits.limitNodes;
    return { key: JSON.stringify(["analyse", fields]), type: "analyse", fields, hear };
  }

  take(message, node) {
    if (this.node !== node) this.clear();
    this.node = node;
    if (message.type === "threat") {
      this.threat = message;
      return;
    }
    // In a position that is proven to be lost every move loses, also one that the search did not look at.
    for (const [i, move] of message.proven === 1 - message.to_move ? message.moves.entries() : []) {
      if (move.proven === null) Object.assign(move, { proven: message.proven, distance: i ? null : message.distance });
    }
    this.found = message;
    node.chances = message.wdl[0] + message.wdl[1] / 2;
  }

  clear() {
    this.found = this.threat = this.node = null;
  }

  // What is known of a node.
  at(node) {
    return this.node === node ? this : { found: null, threat: null };
  }

  draw(game, running) {
    const { found, threat } = this.at(game.current);
    this.drawBar(found, game);
    $("analysis-numbers").textContent = found
      ? t("analysis.numbers", {
        n: found.visits, simulations: found.visits.toLocaleString(language()), speed: short(found.speed),
        depth: found.depth, deepest: found.depth_max,
      })
      : running ? t("analysis.looking") : "";
    this.drawWord(found, threat, game);
    this.drawRows(found, game);
    $("analysis-empty").hidden = Boolean(found) || running;
  }

  // A running analysis knows draws; of a position that was judged before only black's expected score is left.
  drawBar(found, game) {
    const node = game.current;
    const { facts, score } = node;
    const winner = facts?.over ? facts.winner : game.ended && !node.children.length ? game.ended.winner : null;
    let [black, draw, white] = found?.wdl ?? (score === null ? [0.5, 0, 0.5] : [score, 0, 1 - score]);
    const known = Boolean(found) || score !== null || winner !== null;
    if (winner !== null) [black, draw, white] = [0, 2, 1].map((who) => Number(who === winner));
    $("bar").classList.toggle("unknown", !known);
    $("bar-black").style.flexGrow = black;
    $("bar-draw").style.flexGrow = draw;
    $("bar-white").style.flexGrow = white;
    $("bar-black").textContent = known && black >= 0.08 ? percentSign(black) : "";
    $("bar-white").textContent = known && white >= 0.08 ? percentSign(white) : "";
    const values = { black: percentSign(black), draw: percentSign(draw), white: percentSign(white) };
    const full = Boolean(found) || winner !== null;
    const say = full ? t("analysis.chances", values) : known ? t("analysis.scores", values) : t("analysis.unknown");
    $("bar").setAttribute("aria-label", say);
    $("bar").title = say;
  }

  // The solver's word: a proven result, and what the opponent threatens.
  drawWord(found, threat, game) {
    const box = $("word");
    const parts = [];
    if (found && found.proven !== null) {
      const text = found.proven === 2 ? t("analysis.proven_draw") : t("analysis.proven", { colour: colourName(found.proven), n: found.distance });
      parts.push(
        h(
          "p", { class: "proof", title: t("analysis.proven_title") }, h("strong", {}, text),
          found.pv.length > 0 && this.button(t("analysis.show"), t("analysis.show_title"), () => this.on.playThrough(found.pv)),
          found.pv.length > 0 && this.button(t("analysis.keep"), t("analysis.keep_title"), () => this.on.addLine(found.pv)),
        ),
      );
    }
    if (threat && !(found && found.proven === threat.to_move)) {
      const values = { colour: colourName(threat.colour), n: threat.distance, point: pointName(threat.line[0], game.width) };
      const name = threat.distance === 1 ? t("analysis.threat_five", values)
        : threat.by === "vcf" ? t("analysis.threat_vcf", values) : t("analysis.threat_vct", values);
      parts.push(
        h("p", { class: "threat", onmouseenter: () => this.on.hoverThreat(threat), onmouseleave: () => this.on.hoverThreat(null) }, h("span", {}, name)),
      );
    }
    const key = JSON.stringify([rowName(0), found?.proven, found?.distance, found?.pv?.length, threat?.line, game.current.ply, language()]);
    if (key !== this.wordKey) box.replaceChildren(...parts);
    this.wordKey = key;
  }

  button(text, title, run) {
    return h("button", { type: "button", class: "link", title, onclick: run }, text);
  }

  // Rows are made once and rewritten, so that a hovered one stays hovered.
  drawRows(found, game) {
    const moves = found?.moves ?? [];
    const best = moves[0]?.score ?? 0;
    while (this.rows.length < moves.length) this.rows.push(this.row(this.rows.length));
    for (const [i, row] of this.rows.entries()) {
      const move = moves[i];
      row.box.hidden = !move;
      if (!move) continue;
      row.name.textContent = pointName(move.point, game.width);
      row.score.textContent = this.scoreText(move, found.to_move);
      row.score.style.color = `hsl(${hue(move, best, found.to_move)} var(--score))`;
      row.visits.textContent = short(move.visits);
      row.line.textContent = lineName(move.pv.slice(1), game.width, 14);
    }
    $("lines").hidden = moves.length === 0;
  }

  scoreText(move, toMove) {
    if (move.proven === null) return percentSign(move.score, 1);
    if (move.proven === 2) return t("analysis.draw");
    const values = { n: move.distance ?? "" };
    return move.proven === toMove ? t("analysis.wins", values) : t("analysis.loses", values);
  }

  row(i) {
    const row = { name: h("td", { class: "name" }), score: h("td", { class: "score" }), visits: h("td", { class: "visits" }), line: h("td", { class: "line" }) };
    const move = () => this.found?.moves[i];
    row.box = h(
      "tr",
      {
        tabindex: 0,
        onmouseenter: () => this.on.hover(move() ?? null), onmouseleave: () => this.on.hover(null),
        onfocus: () => this.on.hover(move() ?? null), onblur: () => this.on.hover(null),
        onclick: () => move() && this.on.play(move()),
        onkeydown: (event) => { if (event.key === "Enter" && move()) this.on.play(move()); },
      },
      row.name, row.score, row.visits, row.line,
    );
    $("line-rows").append(row.box);
    return row;
  }
}
