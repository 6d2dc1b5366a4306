/* Write: suggests the next words as you type, and colours every word by its surprisal, for each model. */

import * as api from "../api.js";
import { colouredText, curves, short } from "../draw.js";
import { examples, key, make, note, put, textArea, trouble } from "../elements.js";
import { can, card, examplesFrom, sampleTexts } from "../models.js";
import { recall, remember } from "../remember.js";

const SUGGESTIONS = 5;
const TOP_BITS = 16; // the darkest colour, the same for all models, so that they are comparable
const TYPING = 130; // milliseconds without typing before the models are asked
const RESTING = 900; // milliseconds before a word that may be unfinished is coloured
const FIRST_TEXT = "the government wants to lower interest rates before the next election ";

export default { id: "write", title: "Write", task: ["suggest", "surprisal"], create };

const able = (models) => models.filter((model) => can(model, "suggest"));

function create({ models }) {
  const area = textArea({ rows: 3, class: "writing", placeholder: "Write something …", "aria-label": "Your text" });
  area.value = recall("text", sampleTexts(able(models))[0] ?? FIRST_TEXT);
  const cards = make("div", { class: "cards" });
  const together = make("div", { class: "together" });
  let asked = [];
  let away = false; // suggestions were hidden with Esc
  let wish = null; // the number of a suggestion that was chosen before it arrived

  const lead = () => cards.querySelectorAll(".card:first-child .suggestion");
  const stale = () => asked[0].list.classList.contains("stale"); // suggestions for an earlier text
  const accept = (button) => { if (!stale()) take(area, button); };
  const acceptNumber = (number) => {
    if (stale()) wish = number;
    else if (lead()[number]) take(area, lead()[number]);
  };
  const refresh = api.latest(TYPING, async (signal, whole) => {
    const results = await Promise.all(asked.map(({ model, place }) => colour(model, place, signal, whole)));
    compare(together, asked, results);
  });
  const settle = api.latest(RESTING, async () => refresh(true));
  const hint = api.latest(TYPING, (signal) => Promise.all(asked.map(({ model, list }, number) => suggestInto(model, list, signal, number === 0))));

  const colour = async (model, place, signal, whole) => {
    const text = whole ? area.value : area.value.replace(/\S+$/, "");
    try {
      const words = text.trim() ? (await api.surprisal({ model: model.id, text }, signal)).words : [];
      place.replaceChildren(words.length ? coloured(model, words, text, place) : note("Nothing to read yet."));
      return words;
    } catch (error) {
      if (api.overtaken(error)) throw error;
      place.replaceChildren(trouble(error));
      return [];
    }
  };
  const suggestInto = async (model, list, signal, first) => {
    if (away) { list.replaceChildren(); list.classList.remove("stale"); return; }
    const before = area.value.slice(0, area.selectionStart);
    try {
      list.replaceChildren(...await suggestions(model, before, signal, accept, first));
      list.classList.remove("stale");
      if (first && wish !== null) { const number = wish; wish = null; acceptNumber(number); }
    } catch (error) {
      if (api.overtaken(error)) throw error;
      list.replaceChildren(trouble(error));
    }
  };

  area.addEventListener("input", () => {
    away = false;
    wish = null;
    asked.forEach(({ list }) => list.classList.add("stale"));
    remember("text", area.value);
    hint();
    refresh(false);
    settle();
  });
  area.addEventListener("click", () => hint());
  area.addEventListener("keyup", (event) => { if (/^(Arrow|Home|End)/.test(event.key)) hint(); });
  area.addEventListener("keydown", (event) => {
    const number = /^Digit([1-9])$/.exec(event.code)?.[1];
    const choice = event.key === "Tab" && !event.shiftKey ? 0 : event.altKey && number ? number - 1 : null;
    if (choice !== null && (stale() || lead()[choice])) { event.preventDefault(); acceptNumber(choice); }
    if (event.key === "Escape") { away = true; hint(); }
  });

  const element = make("div", { class: "write" },
    make("div", { class: "paper" }, area),
    make("p", { class: "help" }, make("span", { class: "keys" }, key("Tab"), " takes the first suggestion, ", key("Alt"), " ", key("1…5"),
      " another; ", key("Esc"), " hides them. "), make("span", { class: "touch" }, "Tap a suggestion to take it. "),
      "Select a word below to see what the model expected in its place."),
    examples(area, examplesFrom(able(models), {
      "the news": FIRST_TEXT,
      "two meanings": "the bank raised its prime rate and the river left its bank ",
      "an odd word": "shares of the company closed at a record high pineapple ",
    })),
    scale(), cards, together);

  const show = (models) => {
    asked = models.map((model) => {
      const list = make("div", { class: "suggestions", role: "group", "aria-label": `Next words, ${model.id}` });
      const place = make("div", { class: "reading", "aria-live": "off" });
      return { model, list, place, card: card(model, list, place) };
    });
    cards.replaceChildren(...asked.map((one) => one.card));
    together.replaceChildren();
    hint();
    refresh(true);
  };
  return { element, show, hide: () => { hint.cancel(); refresh.cancel(); settle.cancel(); } };
}

/* Completions of the last word, and words that may follow if it is complete, the most probable first.
If the word has completions, the probability of a following word is multiplied by that of the typed
word, so that the two can be compared. */
async function suggestions(model, before, signal, accept, first) {
  const begun = /\S+$/.exec(before)?.[0];
  const ask = async (text, complete) => (await api.suggest({ model: model.id, text, top: SUGGESTIONS, complete }, signal)).suggestions
    .map((one) => ({ ...one, completes: complete }));
  const [endings, share, next] = await Promise.all([
    begun ? ask(before, true) : [],
    begun ? typedShare(model, before, signal) : 1,
    ask(begun ? `${before} ` : before, false),
  ]);
  const weight = endings.length && share ? share : 1;
  const following = next.map((one) => ({ ...one, probability: weight * one.probability }));
  const found = [...endings, ...following];
  if (share) found.sort((a, b) => b.probability - a.probability);
  return found.slice(0, SUGGESTIONS).map(({ token, probability, completes }, number) => {
    const button = make("button", { type: "button", class: "suggestion", "data-token": token,
      "data-completes": String(completes), "data-spaced": String(model.tokenizer === "words"),
      "aria-label": `${token}, ${percent(probability)}${begun && !completes ? ", the next word" : ""}`, onclick: () => accept(button) },
    first ? key(number === 0 ? "Tab" : String(number + 1)) : null,
    make("span", {}, begun && !completes ? `${begun} ` : "", token), make("small", {}, percent(probability)));
    button.style.setProperty("--share", `${Math.max(2, 100 * probability)}%`);
    return button;
  });
}

/* The probability of the last word as typed; 0 if it is out of vocabulary and therefore unfinished. */
async function typedShare(model, before, signal) {
  const word = (await api.surprisal({ model: model.id, text: before }, signal)).words.at(-1);
  return !word || word.unknown || word.surprisal === null ? 0 : 2 ** -word.surprisal;
}

/* Inserts a suggestion at the cursor: replaces an unfinished word, attaches punctuation to the last word. */
function take(area, button) {
  const { token, completes, spaced } = button.dataset;
  const end = area.selectionStart;
  let before = area.value.slice(0, end);
  if (completes === "true") before = before.replace(/\S+$/, "");
  else if (spaced !== "true" && /^[.,;:!?)\]}%’']/.test(token)) before = before.replace(/ +$/, "");
  else if (/\S$/.test(before)) before += " ";
  const after = area.value.slice(end).replace(/^ /, "");
  put(area, `${before}${token} ${after}`);
  const place = before.length + token.length + 1;
  area.setSelectionRange(place, place);
  area.focus();
}

function coloured(model, words, text, place) {
  const shown = words.map(({ word, surprisal, entropy, rank, unknown }, number) => ({
    text: word === "<eos>" ? "⏎\n" : number + 1 < words.length && words[number + 1].word === "<eos>" ? word : `${word} `,
    value: surprisal,
    unknown,
    note: [entropy !== null && `entropy ${short(entropy)}`,
      rank && `rank ${short(rank)}`, unknown && "unknown to the model"].filter(Boolean).join(" · "),
  }));
  const expected = make("div", { class: "expected", "aria-live": "polite" });
  const select = async (number) => {
    const { suggestions: found } = await api.suggest({ model: model.id, text: textBefore(text, number), top: SUGGESTIONS });
    const list = found.map(({ token, probability }) => make("li", {}, token, " ", make("small", {}, percent(probability))));
    expected.replaceChildren(make("p", {}, "Instead of ", make("b", {}, words[number].word), " the model expected"), make("ol", {}, list));
  };
  const figure = colouredText({ title: "", words: shown, high: TOP_BITS, label: "surprisal", onSelect: select,
    format: (bits) => (bits === null ? "infinite: impossible" : `${short(bits)} bits`) });
  figure.querySelector(".words").setAttribute("aria-label", `Surprisal of every word, ${model.id}`);
  return make("div", {}, make("p", { class: "sum" }, summary(words)), figure, expected);
}

function summary(words) {
  const known = words.map((word) => word.surprisal).filter((bits) => bits !== null);
  const mean = known.reduce((sum, bits) => sum + bits, 0) / (known.length || 1);
  const impossible = words.length - known.length;
  const unknown = words.filter((word) => word.unknown).length;
  return [make("b", {}, short(mean)), " bits per word", impossible ? `, ${impossible} impossible` : "",
    ` over ${words.length} ${words.length === 1 ? "word" : "words"}`,
    unknown ? make("span", { class: "unknown-words" }, ` · ${unknown} unknown to the model`) : null];
}

/* The text before a word; words and line ends are counted as on the server. */
function textBefore(text, number) {
  const found = [...text.matchAll(/\n|\S+/g)][number];
  return found ? text.slice(0, found.index) : text;
}

function compare(place, asked, results) {
  const same = results.length > 1 && results[0].length > 1 && results.every((words) => words.length === results[0].length);
  if (!same) { place.replaceChildren(); return; }
  place.replaceChildren(curves({
    title: "Word by word",
    series: asked.map(({ model }, number) => ({ name: model.id, y: results[number].map((word) => word.surprisal) })),
    xNames: results[0].map(({ word }) => (word === "<eos>" ? "⏎" : word)),
    yLabel: "bits", zero: true,
  }));
}

function scale() {
  return make("p", { class: "scale", "aria-label": `Colours from 0 to ${TOP_BITS} bits` },
    make("span", {}, "expected"), make("i"), make("span", {}, `surprising: ${TOP_BITS} bits or more`));
}

const percent = (share) => (share >= 0.1 ? `${Math.round(100 * share)} %` : `${short(Number((100 * share).toPrecision(2)))} %`);
