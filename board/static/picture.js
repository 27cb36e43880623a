// The board as a picture of its own: SVG, or PNG made from it.

const KEPT = ["fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray", "opacity",
  "fill-opacity", "stroke-opacity", "visibility", "font-size", "font-family", "font-weight", "text-anchor", "dominant-baseline"];
const PNG_WIDTH = 1200;

// Returns SVG text that needs no style sheet; `without` names layers that are left out.
export function svgText(board, without = []) {
  const copy = board.cloneNode(true);
  const sources = board.querySelectorAll("*");
  const gone = ["cursor", ...without].map((name) => copy.querySelector(`g.${name}`)); // an aim is no part of the position
  for (const [i, element] of copy.querySelectorAll("*").entries()) {
    const style = getComputedStyle(sources[i]);
    for (const name of KEPT) {
      const value = style.getPropertyValue(name);
      const inherited = name.startsWith("font") || name === "text-anchor" || name === "dominant-baseline";
      if (value && !(inherited && element.tagName !== "text")) {
        if (!(element.tagName === "stop" || element.tagName === "radialGradient")) element.setAttribute(name, local(value));
      }
    }
    element.removeAttribute("class");
    element.removeAttribute("data-point");
  }
  for (const layer of gone) layer?.remove();
  const [, , width, height] = board.dataset.whole.split(" "); // also of an enlarged board
  copy.setAttribute("viewBox", board.dataset.whole);
  copy.removeAttribute("data-whole");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.removeAttribute("class");
  copy.removeAttribute("role");
  return new XMLSerializer().serializeToString(copy);
}

// A computed reference to a gradient, url("#name") or with the page's address, as the picture's own: url(#name).
function local(value) {
  return value.replace(/url\((["']?)[^"'#)]*#([^"')]*)\1\)/g, "url(#$2)");
}

// Returns a canvas of this width with a drawing on it.
export async function rasterized(text, width) {
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = width;
    canvas.height = Math.round((width * image.height) / image.width);
    canvas.getContext("2d", { willReadFrequently: true }).drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas;
  } finally {
    URL.revokeObjectURL(url);
  }
}

export async function pngBlob(board) {
  const canvas = await rasterized(svgText(board), PNG_WIDTH);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture could not be made"))), "image/png"),
  );
}

export function download(content, name, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
