// The texts of the page in the language of the reader: lang/*.json, chosen by the browser or by hand.

export const LANGUAGES = {
  en: "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文", ja: "日本語", ko: "한국어", vi: "Tiếng Việt",
  ru: "Русский", cs: "Čeština",
};
// Rules by number, as parts of the keys of their texts.
export const RULES = { 0: "freestyle", 1: "standard", 4: "renju", 8: "caro", 9: "exact_caro", 16: "omok" };

const DEFAULT = "en";
const SIDES = ["black", "white"];

let texts = {};
let plurals = new Intl.PluralRules(DEFAULT);
let used = DEFAULT;

// Returns the first language of a list of tags (BCP 47) that there is, English where there is none.
export function matching(tags) {
  for (const tag of tags) {
    let locale;
    try {
      locale = new Intl.Locale(tag).maximize(); // zh-TW becomes zh-Hant-TW
    } catch {
      continue;
    }
    for (const name of [`${locale.language}-${locale.script}`, locale.language]) {
      if (Object.hasOwn(LANGUAGES, name)) return name;
    }
  }
  return DEFAULT;
}

// The language that is in use, for Intl.
export const language = () => used;

// Loads a language and writes its texts into the page; null chooses by the browser.
export async function setLanguage(chosen) {
  const wanted = Object.hasOwn(LANGUAGES, chosen ?? "") ? chosen : matching(navigator.languages);
  const answer = await fetch(`/lang/${wanted}.json`);
  if (!answer.ok) throw new Error(`lang/${wanted}.json: ${answer.status}`);
  texts = await answer.json();
  used = wanted;
  plurals = new Intl.PluralRules(wanted);
  document.documentElement.lang = wanted;
  translate(document);
}

// Returns a text. {name} in it becomes values.name; of a text with plural forms the one for values.n is taken.
export function t(key, values = {}) {
  let text = texts[key];
  if (typeof text === "object") text = text[plurals.select(Number(values.n))] ?? text.other;
  if (text === undefined) return key; // a test holds that this never happens
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// "black" or "white" as a part of a key, for 0 and 1.
export const side = (colour) => SIDES[colour];

export const colourName = (colour) => t(`colour.${side(colour)}`);

// The shape that makes a point forbidden, as the server names it.
export const foul = (reason) => t(`forbidden.${reason.replace(" ", "_")}`);

// What the server says: by its code where it has one, else the words that it sent.
export function serverText({ code, values, text }) {
  if (!code || !Object.hasOwn(texts, `server.${code}`)) return text;
  const said = { ...values };
  if (said.reason) said.reason = foul(said.reason);
  if (said.rule !== undefined) said.rule = t(`rule.short.${RULES[said.rule]}`);
  return t(`server.${code}`, said);
}

// Writes the texts that data-t and data-t-ATTRIBUTE name into the elements below a root.
export function translate(root) {
  for (const element of root.querySelectorAll("*")) {
    for (const { name, value } of [...element.attributes]) {
      if (name === "data-t") element.textContent = t(value);
      else if (name.startsWith("data-t-")) element.setAttribute(name.slice(7), t(value));
    }
  }
}
