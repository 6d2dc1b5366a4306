/* Try: served models that tag, classify, answer or translate, each with a form of its own. */

import * as api from "../api.js";
import { bars, colouredText, heatMap, short } from "../draw.js";
import { examples, key, make, textArea, trouble } from "../elements.js";
import { can, card } from "../models.js";
import { recall, remember } from "../remember.js";

const TASKS = ["tag", "classify", "answer", "translate"];
const FORMS = { tag: tagging, classify: classifying, answer: answering, translate: translating };

export default { id: "try", title: "Try", task: TASKS, choose: false, create };

function create(studio) {
  const cards = studio.models.filter((model) => can(model, TASKS)).map((model) => {
    const task = TASKS.find((one) => can(model, one));
    return card(model, FORMS[task](model));
  });
  return { element: make("div", { class: "cards wide" }, cards), show: () => {} };
}

/* A form with one or more texts; `ask` gives what is to be shown of the answer. */
function asking(model, verb, fields, ask, tries = {}) {
  const areas = Object.entries(fields).map(([name, [label, text]]) => {
    const area = textArea({ rows: 2, class: "writing", name, "aria-label": label, placeholder: label });
    area.value = recall(`${model.id}-${name}`, text);
    area.addEventListener("input", () => remember(`${model.id}-${name}`, area.value));
    return area;
  });
  const place = make("div", { class: "result", "aria-live": "polite" });
  const go = api.latest(0, async (signal) => {
    try {
      place.replaceChildren(...await ask(Object.fromEntries(areas.map((area) => [area.name, area.value])), signal));
    } catch (error) {
      if (api.overtaken(error)) throw error;
      place.replaceChildren(trouble(error));
    }
  });
  const form = make("form", { class: "asking", onsubmit: (event) => { event.preventDefault(); go(); } },
    areas.map((area) => make("div", { class: "paper" }, area)),
    make("p", { class: "actions" }, make("button", { type: "submit", class: "main" }, verb), make("span", { class: "help" }, key("Ctrl"), " ", key("Enter"))),
    Object.keys(tries).length ? examples(areas[0], tries) : null, place);
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); go(); }
  });
  return form;
}

function tagging(model) {
  const text = "The old man the boats .";
  return asking(model, "Tag", { text: ["Sentences, one per line; words with spaces between", text] }, async ({ text: given }, signal) => {
    const { sentences } = await api.tag({ model: model.id, text: given }, signal);
    return sentences.map(({ words, tags, spans }) => make("div", {},
      make("p", { class: "tagged" }, words.map((word, place) => make("span", { class: tags[place] === "O" ? "outside" : null }, make("b", {}, word), make("small", {}, tags[place])))),
      spans?.length ? make("ul", { class: "spans" }, spans.map((span) => make("li", {}, make("b", {}, span.text), ` ${span.kind}`))) : null));
  }, { "a garden path": text, "who and where": "Maria flew from Lisbon to Oslo on Friday to meet her sister ." });
}

function classifying(model) {
  const text = "a warm , funny and quietly moving film";
  return asking(model, "Classify", { text: ["A text", text] }, async ({ text: given }, signal) => {
    const { results: [found] } = await api.classify({ model: model.id, texts: [given], explain: true }, signal);
    const shares = Object.entries(found.probabilities).sort((a, b) => b[1] - a[1]);
    const parts = [make("p", { class: "sum" }, make("b", {}, String(found.label)), ` with ${short(100 * found.probability)} %`),
      bars({ title: "", names: shares.map(([name]) => name), series: [{ name: "probability", values: shares.map(([, share]) => share) }], max: 1, format: (share) => `${short(100 * share)} %` })];
    if (found.contributions?.length) {
      parts.push(colouredText({ title: `What each word did for “${found.label}”`, label: "contribution", diverging: true,
        words: found.contributions.map(({ word, contribution }) => ({ text: `${word} `, value: contribution })) }));
    }
    return parts;
  }, { "praise": text, "blame": "a tedious mess without a single joke that lands", "hard": "not exactly bad , but hardly worth the wait" });
}

function answering(model) {
  const fields = { question: ["A question", ""], passage: ["The passage that has the answer", ""] };
  return asking(model, "Answer", fields, async ({ question, passage }, signal) => {
    const found = await api.answer({ model: model.id, question, passage }, signal);
    const letters = Array.from(passage); // code points, as the server counts; a string's places are UTF-16 units
    const part = (from, to) => letters.slice(from, to).join("");
    return [make("p", { class: "passage" }, part(0, found.start), make("mark", {}, part(found.start, found.end)), part(found.end)),
      make("p", { class: "sum" }, make("b", {}, found.answer || "no answer"), ` with ${short(100 * found.probability)} %`)];
  });
}

function translating(model) {
  return asking(model, "Translate", { text: ["Sentences, one per line", ""] }, async ({ text }, signal) => {
    const texts = text.split("\n").filter((line) => line.trim());
    const { translations } = await api.translate({ model: model.id, texts, attention: true }, signal);
    return translations.flatMap(({ text: written, attention }) => [make("p", { class: "translation" }, written),
      attention?.target.length ? heatMap({ title: "Where it looked", rows: attention.target, columns: attention.source,
        values: attention.weights, rowLabel: "written", columnLabel: "read", low: 0, high: 1 }) : null]).filter(Boolean);
  });
}
