// The buttons, switches and lists of the page.

import { askNewGame, levelName, prepareDialogs, show } from "./dialogs.js";
import { $, h } from "./dom.js";
import { prepareFiles } from "./files.js";
import { watchFocus } from "./focus.js";
import { language, LANGUAGES, RULES, t } from "./i18n.js";
import { listen } from "./keys.js";
import { Puzzles } from "./puzzles.js";
import { drawSettings, prepareSettings } from "./settings.js";
import { SetUp } from "./setup.js";
import { store } from "./store.js";
import { Table } from "./table.js";

// Connects every control with what it does.
export function connectControls(app) {
  const { actions } = app;
  app.setup = new SetUp(app);
  app.puzzles = new Puzzles(app);
  prepareDialogs();
  prepareFiles(app);
  const clicks = {
    "do-first": "first", "do-back": "back", "do-next": "next", "do-last": "last", "do-undo": "undo", "do-hint": "hint",
    "do-engine": "engine", "do-theme": "theme", "do-promote": "promote", "do-remove": "removeVariation",
  };
  for (const [id, name] of Object.entries(clicks)) $(id).addEventListener("click", () => actions[name]());
  $("do-new").addEventListener("click", () => askNewGame(app.game, app.table, (chosen) => app.newGame(chosen)));
  $("do-resign").addEventListener("click", () => app.offers.resign());
  $("do-draw").addEventListener("click", () => app.offers.draw());
  $("do-settings").addEventListener("click", () => show("settings"));
  for (const count of [1, 2]) $(`do-balance-${count}`).addEventListener("click", () => actions.balance(count));
  for (const button of document.querySelectorAll("[data-turn]")) button.addEventListener("click", () => actions.turn(button.dataset.turn));
  for (const button of document.querySelectorAll("[data-shift]")) {
    button.addEventListener("click", () => actions.shift(...button.dataset.shift.split(" ").map(Number)));
  }
  $("do-help").addEventListener("click", () => show("help"));
  $("analyse").addEventListener("change", () => actions.analyse());
  $("numbers").addEventListener("change", () => actions.numbers());
  $("show").addEventListener("change", () => { app.settings.show = $("show").value; app.changed(); });
  $("review-start").addEventListener("click", () => { app.review.start(app.game, Number($("review-ms").value)); app.changed(); });
  $("review-stop").addEventListener("click", () => { app.review.stop(); app.changed(); });
  $("review-ms").addEventListener("change", () => { app.settings.reviewMs = Number($("review-ms").value); app.changed(); });
  for (const colour of [0, 1]) {
    $(`seat-${colour}`).addEventListener("change", () => {
      const [seat, brain] = $(`seat-${colour}`).value.split(":");
      app.table.seats[colour] = seat;
      app.table.brains[colour] = brain === undefined ? null : Number(brain);
      app.seated();
    });
    $(`level-${colour}`).addEventListener("input", () => { app.table.levels[colour] = Number($(`level-${colour}`).value); app.seated(); });
  }
  $("turn-ms").addEventListener("change", () => { app.table.turnMs = Number($("turn-ms").value); app.changed(); });
  $("language").append(...Object.entries(LANGUAGES).map(([value, name]) => h("option", { value, lang: value }, name)));
  $("language").addEventListener("change", () => app.setLanguage($("language").value));
  document.addEventListener("visibilitychange", () => {
    app.link.tell("look", { visible: !document.hidden });
    app.think();
  });
  addEventListener("pagehide", () => {
    store.keepNow(() => app.state());
    app.link.leave(); // a page that may come back would hold its engine
  });
  addEventListener("pageshow", (event) => { if (event.persisted) app.link.connect(); });
  prepareSettings(app);
  listen(actions);
  watchFocus();
}

// Lets other brains be chosen as players.
export function offerBrains(app) {
  Table.brainNames = app.welcome.brains;
  for (const colour of [0, 1]) {
    $(`seat-${colour}`).querySelectorAll("option[value^='engine:']").forEach((option) => option.remove());
    $(`seat-${colour}`).append(...app.welcome.brains.map((name, i) => h("option", { value: `engine:${i}` }, name)));
  }
  app.changed();
}

// Shows the state of the game in every control.
export function drawControls(app) {
  const { settings, table, game } = app;
  app.puzzles.draw();
  for (const colour of [0, 1]) {
    const other = table.brainName(colour) !== null;
    $(`seat-${colour}`).value = other ? `engine:${table.brains[colour]}` : table.seats[colour];
    $(`level-${colour}`).disabled = other;
    $(`level-${colour}`).value = table.levels[colour];
    $(`level-${colour}-out`).textContent = levelName(table.levels[colour]);
  }
  $("turn-ms").value = `${table.turnMs}`;
  $("show").value = settings.show;
  $("analyse").checked = settings.analyse && !app.engine?.stalled;
  $("numbers").checked = settings.numbers;
  $("review-ms").value = `${settings.reviewMs}`;
  $("language").value = language();
  drawSettings(app);
  $("offers").hidden = app.offers.person === null;
  $("rule-name").textContent = t("game.rule", { width: game.width, height: game.height, rule: t(`rule.short.${RULES[game.rule]}`) });
  $("do-engine").textContent = table.watching ? (table.paused ? t("tools.go_on") : t("tools.pause")) : t("tools.engine");
  $("do-back").disabled = $("do-first").disabled = !game.current.parent;
  $("do-next").disabled = $("do-last").disabled = !game.current.children.length;
}

export function drawVersions(app) {
  const version = app.welcome && t("help.versions", { version: app.welcome.version });
  $("versions").textContent = [version, app.engine?.net && t("help.net", { net: app.engine.net })].filter(Boolean).join(" · ");
}
