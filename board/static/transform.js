// A game turned, mirrored or shifted on its board: the same game on other points.

// By name: whether columns and rows change places, and where (x, y) of a board w wide and h high goes.
const SYMMETRIES = {
  mirrorColumns: [false, (x, y, w) => [w - 1 - x, y]],
  mirrorRows: [false, (x, y, w, h) => [x, h - 1 - y]],
  turnRight: [true, (x, y, w, h) => [h - 1 - y, x]],
  turnLeft: [true, (x, y, w) => [y, w - 1 - x]],
};

// Returns [width, height, function from point to point].
export function symmetry(game, name) {
  const { width: w, height: h } = game;
  const [swaps, to] = SYMMETRIES[name];
  const [width, height] = swaps ? [h, w] : [w, h];
  return [width, height, (point) => {
    const [x, y] = to(point % w, Math.floor(point / w), w, h);
    return y * width + x;
  }];
}

// The same for a shift; null where a stone of the game or of a variation would leave the board.
export function shift(game, dx, dy) {
  const { width: w, height: h } = game;
  const inside = (point) => {
    const [x, y] = [(point % w) + dx, Math.floor(point / w) + dy];
    return x >= 0 && y >= 0 && x < w && y < h;
  };
  if (!game.nodes().every((node) => node.point < 0 || inside(node.point))) return null;
  return [w, h, (point) => (inside(point) ? point + dy * w + dx : null)];
}
