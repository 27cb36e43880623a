// The moves of the game as text, variations in brackets of their own, and the comment of the current move.

import { $, h } from "./dom.js";
import { pointName, rowName } from "./names.js";

const MOST = 1200; // moves that are shown; more would make the page slow

export class MoveList {
  // on: {go(node), comment(text)}
  constructor(on) {
    this.on = on;
    this.items = new Map(); // node -> its button
    this.drawn = "";
    $("comment").addEventListener("input", () => on.comment($("comment").value));
  }

  draw(game) {
    const marks = game.line().map((node) => node.judged?.mark ?? "").join();
    const key = `${game.version} ${marks} ${rowName(0)}`;
    if (key !== this.drawn || this.game !== game) {
      this.game = game;
      this.drawn = key;
      this.rebuild(game);
    }
    this.marked?.removeAttribute("aria-current");
    this.marked = this.items.get(game.current) ?? null;
    this.marked?.setAttribute("aria-current", "true");
    if (this.marked) this.show(this.marked);
    $("moves-empty").hidden = game.root.children.length > 0;
    if (document.activeElement !== $("comment")) $("comment").value = game.current.comment;
    $("variation-tools").hidden = !this.inVariation(game.current);
  }

  inVariation(node) {
    for (let at = node; at.parent; at = at.parent) if (at.parent.children[0] !== at) return true;
    return false;
  }

  // Scrolls inside the list only, never the page.
  show(item) {
    const box = $("moves");
    const top = item.offsetTop - box.offsetTop;
    if (top < box.scrollTop || top + item.offsetHeight > box.scrollTop + box.clientHeight) {
      box.scrollTop = top - box.clientHeight / 2;
    }
  }

  rebuild(game) {
    this.items.clear();
    this.left = MOST;
    const main = h("div", { class: "run" });
    // Each piece of work: a node, and the box that it and its continuation go into.
    const todo = [[game.root.children[0], main, game.root]];
    while (todo.length) {
      let [node, box, parent] = todo.pop();
      while (node && this.left-- > 0) {
        box.append(this.item(node, game));
        if (node.comment) box.append(h("span", { class: "said" }, node.comment.slice(0, 160)));
        const siblings = parent.children[0] === node ? parent.children.slice(1) : [];
        for (const other of siblings) {
          const inner = h("div", { class: "variation" });
          box.append(inner);
          todo.push([other, inner, parent]);
        }
        parent = node;
        node = node.children[0];
      }
    }
    $("moves").replaceChildren(main);
  }

  item(node, game) {
    const mark = node.judged?.mark ?? "";
    const kind = mark === "??" ? " blunder" : mark ? " mistake" : "";
    const button = h(
      "button",
      { type: "button", class: `move ${node.colour ? "white" : "black"}${kind}`, onclick: () => this.on.go(node) },
      h("i", {}, `${node.ply}`), pointName(node.point, game.width), mark && h("b", {}, mark),
    );
    this.items.set(node, button);
    return button;
  }
}
