// Games in and out: dropped, chosen or pasted; saved, copied.

import { $ } from "./dom.js";
import { hide, show } from "./dialogs.js";
import { gameGif } from "./gif.js";
import { language, serverText, side, t } from "./i18n.js";
import { lineName } from "./names.js";
import { clearNotice, notice } from "./notices.js";
import { download, pngBlob, svgText } from "./picture.js";
import { Game } from "./tree.js";

const MAX_BYTES = 1 << 20; // as the server allows

export function prepareFiles(app) {
  $("do-open").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => {
    const [file] = $("file").files;
    if (file) openFile(app, file);
    $("file").value = "";
  });
  for (const kind of ["sgf", "psq"]) $(`save-${kind}`).addEventListener("click", () => save(app, kind));
  $("do-save").addEventListener("click", () => show("save"));
  $("do-share").addEventListener("click", () => show("share"));
  $("copy-text").addEventListener("click", () => copyText(app));
  $("copy-png").addEventListener("click", () => copyPng(app));
  $("save-png").addEventListener("click", async () => download(await pngBlob(app.view.svg), fileName("png")));
  $("save-svg").addEventListener("click", () => download(svgText(app.view.svg), fileName("svg"), "image/svg+xml"));
  $("save-gif").addEventListener("click", () => saveGif(app));
  prepareDrop(app);
  document.addEventListener("paste", (event) => {
    if (event.target.matches?.("input, textarea")) return;
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.trim()) openText(app, text, t("files.clipboard"));
  });
}

function prepareDrop(app) {
  let inside = 0;
  const over = (change) => {
    inside = Math.max(0, inside + change);
    $("drop").hidden = inside === 0;
  };
  document.addEventListener("dragenter", (event) => { event.preventDefault(); over(1); });
  document.addEventListener("dragleave", () => over(-1));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    over(-inside);
    const [file] = event.dataTransfer?.files ?? [];
    if (file) openFile(app, file);
  });
}

async function openFile(app, file) {
  if (file.size > MAX_BYTES) {
    notice(t("files.too_large", { name: file.name, size: Math.round(file.size / 1024) }), { bad: true });
    return;
  }
  openGame(app, { data: base64(new Uint8Array(await file.arrayBuffer())) }, file.name);
}

export async function openText(app, text, name) {
  await openGame(app, { text: text.slice(0, MAX_BYTES) }, name);
}

// The server reads the bytes: it knows which encoding they are in.
function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

async function openGame(app, content, name) {
  const { width, height, rule } = app.game;
  try {
    const data = await app.link.ask("open", { ...content, rule, width, height, from_bottom: app.settings.rows === "bottom" });
    const before = app.state();
    data.current = 0;
    const game = Game.from(data);
    const winner = data.winner === 2 ? null : data.winner;
    app.replaceGame(game, { seats: ["person", "person"] });
    clearNotice("opened");
    const values = { n: game.line().length - 1, name };
    const found = winner === null ? t("files.opened", values) : t(`files.opened_won.${side(winner)}`, values);
    notice([found, ...data.notes.map(sentence)].join(" "), {
      key: "opened",
      action: before.game.nodes.length > 1 ? { text: t("files.game_before"), run: () => app.restore(before) } : null,
    });
    app.actions.last();
  } catch (error) {
    notice(t("files.not_opened", { name, why: error.message }), { bad: true, key: "opened" });
  }
}

// What a reader guessed or left out, as a sentence.
function sentence(note) {
  const text = serverText(note);
  return t("files.note", { note: text[0].toLocaleUpperCase(language()) + text.slice(1) });
}

async function save(app, kind) {
  const { game } = app;
  const nodes = game.flat().nodes;
  const { width, height, rule } = game;
  try {
    const fields = { kind, game: { width, height, rule, moves: [] }, names: game.names, opening: 0, nodes, ended: game.mainEnd };
    const { text } = await app.link.ask("save", fields);
    download(text, fileName(kind), "application/octet-stream");
    hide("save");
  } catch (error) {
    notice(t("files.not_saved", { why: error.message }), { bad: true });
  }
}

async function copyText(app) {
  const text = lineName(app.game.path(), app.game.width, 999);
  await copied(() => navigator.clipboard.writeText(text), t("copy.text_done"));
}

async function copyPng(app) {
  await copied(
    () => navigator.clipboard.write([new ClipboardItem({ "image/png": pngBlob(app.view.svg) })]),
    t("copy.picture_done"),
  );
}

async function saveGif(app) {
  hide("share");
  notice(t("copy.gif_begun"), { key: "copied" });
  try {
    download(await gameGif(app.game, app.view), fileName("gif"));
    clearNotice("copied");
  } catch {
    notice(t("copy.gif_failed"), { bad: true, key: "copied" });
  }
}

async function copied(work, text) {
  try {
    await work();
    notice(text, { key: "copied" });
  } catch {
    notice(t("copy.not_allowed"), { bad: true, key: "copied" });
  }
  hide("share");
}

function fileName(kind) {
  const now = new Date();
  const two = (number) => `${number}`.padStart(2, "0");
  const day = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  return `tengen-${day}-${two(now.getHours())}${two(now.getMinutes())}.${kind}`;
}
