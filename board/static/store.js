// What is kept over a reload: the game of this tab, the last game of any tab, settings.

const GAME = "tengen.game"; // of this tab
const LAST = "tengen.last"; // of the tab that moved last
const TOKEN = "tengen.token"; // gives access to the server; behind the # of the address
const SETTINGS = "tengen.settings";

function read(storage, key) {
  try {
    return JSON.parse(storage.getItem(key));
  } catch {
    return null; // damaged, or switched off
  }
}

function write(storage, key, value) {
  try {
    storage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false; // full, or switched off
  }
}

// The token of the address; also of the last one, for an address that was typed without it.
function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) write(localStorage, TOKEN, given);
  return given ?? read(localStorage, TOKEN) ?? "";
}

let timer = 0;

export const store = {
  token,
  game: () => read(sessionStorage, GAME),
  lastGame: () => read(localStorage, LAST),
  settings: () => read(localStorage, SETTINGS) ?? {},

  // Keeps the state of the game, soon.
  keep(state, failed) {
    clearTimeout(timer);
    timer = setTimeout(() => this.keepNow(state, failed), 150);
  },

  keepNow(state, failed) {
    clearTimeout(timer);
    const value = state();
    const kept = write(sessionStorage, GAME, value);
    if (value.game.nodes.length > 1) write(localStorage, LAST, { ...value, at: Date.now() });
    if (!kept) failed?.();
  },

  keepSettings: (settings) => write(localStorage, SETTINGS, settings),
};
