// The game: stones in order, with variations and comments. A node is one stone; the root is the empty board.

class Node {
  constructor(point, parent) {
    this.point = point;
    this.parent = parent;
    this.children = []; // the first is the main continuation
    this.ply = parent ? parent.ply + 1 : 0; // stones on the board
    this.comment = "";
    this.ms = 0;
    this.facts = null; // what the server says about the position
    this.judged = null; // what the review says about the move
    this.chances = null; // black's expected score, as last seen
    this.clocks = null; // both clocks after the move, ms
  }

  get colour() {
    return (this.ply - 1) % 2;
  }

  // Black's expected score here, null where nobody has looked.
  get score() {
    const next = this.children[0]?.judged;
    if (this.facts?.over) return this.facts.winner === 2 ? 0.5 : 1 - this.facts.winner;
    return this.judged?.after ?? this.chances ?? next?.before ?? null;
  }
}

export class Game {
  constructor({ width = 15, height = 15, rule = 0, names = ["black", "white"], opening = 0 } = {}) {
    Object.assign(this, { width, height, rule, names, opening });
    this.root = new Node(-1, null);
    this.current = this.root;
    this.end = null; // {winner, why} of a game that ended off the board, by time, resignation or agreement ...
    this.endNode = null; // ... and where that was
    this.version = 0; // grows with every change of the tree
  }

  // How the game ended here off the board; null where it goes on.
  get ended() {
    return this.endNode === this.current ? this.end : null;
  }

  set ended(end) {
    if (!end && this.endNode !== this.current) return; // it ended in another line
    this.end = end;
    this.endNode = end && this.current;
  }

  // How the main line ended off the board, for a file.
  get mainEnd() {
    return this.endNode && this.line(this.root).includes(this.endNode) ? this.end : null;
  }

  // Points from the first stone to a node.
  path(node = this.current) {
    const points = [];
    for (let at = node; at.parent; at = at.parent) points.push(at.point);
    return points.reverse();
  }

  // The position as requests carry it.
  moves(node = this.current) {
    return { width: this.width, height: this.height, rule: this.rule, moves: this.path(node) };
  }

  // Nodes from the root to the end of the line through a node.
  line(node = this.current) {
    const nodes = [];
    for (let at = node; at; at = at.parent) nodes.push(at);
    nodes.reverse();
    for (let at = node.children[0]; at; at = at.children[0]) nodes.push(at);
    return nodes;
  }

  // All nodes, parents first.
  nodes() {
    const found = [this.root];
    for (const node of found) found.push(...node.children);
    return found;
  }

  // Whether a node is still in the tree.
  holds(node) {
    let at = node;
    while (at.parent?.children.includes(at)) at = at.parent;
    return at === this.root;
  }

  // Puts every stone on another point of a board of this size.
  transform(width, height, to) {
    Object.assign(this, { width, height });
    for (const node of this.nodes()) {
      if (node.point >= 0) node.point = to(node.point); // a pass has none
      if (node.judged) node.judged.best = to(node.judged.best) ?? node.point;
      node.facts = null;
      node.asked = false;
    }
    this.version++;
  }

  get taken() {
    return new Set(this.path());
  }

  // Puts a stone behind the current node, or steps to where it was put before.
  play(point, ms = 0) {
    let child = this.current.children.find((node) => node.point === point);
    if (!child) {
      child = new Node(point, this.current);
      child.ms = Math.round(ms);
      this.current.children.push(child);
      this.version++;
    }
    this.current = child;
    return child;
  }

  // Adds a line of points behind a node without going there; returns its first node.
  addLine(points, node = this.current) {
    const back = this.current;
    this.current = node;
    let first = null;
    for (const point of points) {
      const child = this.play(point);
      first ??= child;
    }
    this.current = back;
    return first;
  }

  remove(node) {
    if (!node.parent) return;
    for (let at = this.current; at; at = at.parent) {
      if (at === node) {
        this.current = node.parent;
        break;
      }
    }
    for (let at = this.endNode; at; at = at.parent) {
      if (at === node) this.end = this.endNode = null;
    }
    node.parent.children = node.parent.children.filter((child) => child !== node);
    this.version++;
  }

  // Makes the line to a node the main line.
  promote(node) {
    for (let at = node; at.parent; at = at.parent) {
      const family = at.parent.children;
      family.splice(family.indexOf(at), 1);
      family.unshift(at);
    }
    this.version++;
  }

  // All nodes, parents first, as the server and the browser's memory take them.
  flat() {
    const nodes = [];
    const numbers = new Map();
    const todo = [this.root];
    while (todo.length) {
      const node = todo.pop();
      numbers.set(node, nodes.length);
      nodes.push({
        parent: node.parent ? numbers.get(node.parent) : -1,
        point: node.point,
        ...(node.comment && { comment: node.comment }),
        ...(node.ms && { ms: node.ms }),
      });
      for (let i = node.children.length - 1; i >= 0; i--) todo.push(node.children[i]);
    }
    return { nodes, numbers };
  }

  toJSON() {
    const { nodes, numbers } = this.flat();
    for (const [node, number] of numbers) {
      for (const name of ["judged", "chances", "clocks"]) {
        if (node[name] !== null) nodes[number][name] = node[name];
      }
    }
    const { width, height, rule, names, opening } = this;
    const ended = this.end && { ...this.end, node: numbers.get(this.endNode) };
    return { width, height, rule, names, opening, ended, nodes, current: numbers.get(this.current) };
  }

  static from(data) {
    const game = new Game(data);
    const nodes = [game.root];
    for (const [i, item] of data.nodes.entries()) {
      const node = i === 0 ? game.root : new Node(item.point, nodes[item.parent]);
      node.comment = item.comment ?? "";
      node.ms = item.ms ?? 0;
      for (const name of ["judged", "chances", "clocks"]) node[name] = item[name] ?? null;
      if (i > 0) {
        node.parent.children.push(node);
        nodes.push(node);
      }
    }
    if (data.ended) {
      const { node, ...end } = data.ended; // a file and older versions say no node
      Object.assign(game, { end, endNode: nodes[node] ?? game.line(game.root).at(-1) });
    }
    game.current = nodes[data.current ?? 0] ?? game.root;
    return game;
  }
}
