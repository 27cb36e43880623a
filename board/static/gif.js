// A game as a moving picture: a GIF with a frame for every stone, encoded by gifenc (board/third_party).

import { rasterized, svgText } from "./picture.js";

const WIDTH = 480;
const STONE_MS = 600;
const END_MS = 3000;
const COLOURS = 63; // one more means "as before"
const BREATH = 16; // frames between which the page may do something else
const LAYERS = ["heat", "stones", "forbidden", "marks", "chances", "ghosts"];
const STONES = [["#6b7078", "#33373d", "#0b0c0e"], ["#ffffff", "#f3f1ec", "#c9c5bb"]];

// Returns the GIF of the line through the current move; stones of the opening are there from the first frame.
export async function gameGif(game, view) {
  const { GIFEncoder, quantize, applyPalette } = await import("/third_party/gifenc/gifenc.esm.js");
  const canvas = await rasterized(svgText(view.svg, LAYERS), WIDTH);
  const pen = canvas.getContext("2d");
  const scale = WIDTH / Number(view.svg.dataset.whole.split(" ")[2]);
  const pixels = () => pen.getImageData(0, 0, canvas.width, canvas.height).data;
  const board = pen.getImageData(0, 0, canvas.width, canvas.height);
  const line = game.line().slice(1).filter((node) => node.point >= 0);
  const begun = line.filter((node) => node.ply <= game.opening);
  const frames = [begun, ...line.slice(begun.length).map((node) => [node])];

  for (const node of line) drawStone(pen, view, scale, node);
  drawMark(pen, view, scale, line.at(-1));
  const palette = quantize(pixels(), COLOURS); // the last frame has every colour
  pen.putImageData(board, 0, 0);

  const gif = GIFEncoder();
  let before = null;
  let under = null; // what the mark of the last stone covers
  for (const [i, nodes] of frames.entries()) {
    if (under) pen.putImageData(under, 0, 0);
    for (const node of nodes) drawStone(pen, view, scale, node);
    under = pen.getImageData(0, 0, canvas.width, canvas.height);
    drawMark(pen, view, scale, nodes.at(-1));
    const index = applyPalette(pixels(), palette);
    const changed = before ? index.map((colour, at) => (colour === before[at] ? palette.length : colour)) : index;
    gif.writeFrame(changed, canvas.width, canvas.height, {
      palette: before ? null : [...palette, [0, 0, 0]], delay: i === frames.length - 1 ? END_MS : STONE_MS,
      transparent: before !== null, transparentIndex: palette.length, dispose: 1,
    });
    before = index;
    if (i % BREATH === BREATH - 1) await new Promise((resolve) => setTimeout(resolve));
  }
  gif.finish();
  return new Blob([gif.bytes()], { type: "image/gif" });
}

function drawStone(pen, view, scale, { point, colour }) {
  const [x, y, r] = [scale * view.x(point), scale * view.y(point), scale * 18];
  const ball = pen.createRadialGradient(x - 0.28 * r, y - 0.4 * r, 0, x - 0.28 * r, y - 0.4 * r, 1.44 * r);
  for (const [i, stop] of [0, colour ? 0.6 : 0.35, 1].entries()) ball.addColorStop(stop, STONES[colour][i]);
  pen.beginPath();
  pen.arc(x, y, r, 0, 2 * Math.PI);
  pen.fillStyle = ball;
  pen.fill();
}

function drawMark(pen, view, scale, node) {
  if (!node) return;
  pen.beginPath();
  pen.arc(scale * view.x(node.point), scale * view.y(node.point), scale * 5.5, 0, 2 * Math.PI);
  pen.fillStyle = "#e5533f";
  pen.fill();
}
