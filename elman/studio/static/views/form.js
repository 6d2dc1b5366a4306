/* The form of a question, made from its JSON schema (GET /v1/questions).

  const form = questionForm(model, question, { samples, checked, show });
      samples: examples, each { field: text }; the form starts with the first one
      checked: checkboxes that are on at the start
      show(answer, request): returns the elements that show an answer
*/

import * as api from "../api.js";
import { field, key, make, put, textArea, trouble } from "../elements.js";
import { recall, remember } from "../remember.js";

const LONG = ["text", "texts", "stdin", "argument"]; // kinds of fields with a text area

export function questionForm(model, question, { samples = [], checked = [], show }) {
  const required = question.schema.required ?? [];
  const given = Object.entries(question.schema.properties).filter(([name]) => name !== "model")
    .map(([name, about]) => ({ name, about, type: typeOf(about), required: required.includes(name) })).filter(({ type }) => type);
  const isText = (one) => LONG.includes(one.about.kind) || (one.required && one.type === "string");
  const texts = given.filter(isText).map((one) => written(one, samples[0]?.[one.name] ?? "", `${model.id}-${question.id}-${one.name}`));
  const options = given.filter((one) => !isText(one)).map((one) => option(one, checked.includes(one.name)));
  const tries = samples.filter((sample) => texts.some(({ name }) => sample[name]));
  const place = make("div", { class: "result", "aria-live": "polite" });
  const go = api.latest(0, async (signal) => {
    const request = Object.fromEntries([...texts, ...options].map(({ name, read }) => [name, read()]).filter(([, value]) => value !== undefined));
    try {
      place.replaceChildren(...show(await api.askQuestion(question.id, { ...request, model: model.id }, signal), request));
    } catch (error) {
      if (api.overtaken(error)) throw error;
      place.replaceChildren(trouble(error));
    }
  });
  const form = make("form", { class: "asking", "data-question": question.id, onsubmit: (event) => { event.preventDefault(); go(); } },
    texts.map(({ control }) => make("div", { class: "paper" }, control)),
    make("p", { class: "actions" }, make("button", { type: "submit", class: "main" }, titled(question.id)), make("span", { class: "help keys" }, key("Ctrl"), " ", key("Enter"))),
    tries.length ? examplesOf(texts, tries) : null,
    options.length ? make("details", { class: "options" }, make("summary", {}, "More controls"), make("div", { class: "controls" }, options.map(({ element }) => element))) : null,
    place);
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); go(); }
  });
  return form;
}

/* A button for each example that fills in all its texts. */
function examplesOf(texts, samples) {
  const fill = (sample) => texts.forEach(({ name, control }) => { if (sample[name]) put(control, sample[name]); });
  return make("p", { class: "examples" }, make("span", { class: "quiet" }, "From the validation data"), samples.map((sample, place) =>
    make("button", { type: "button", class: "small", title: Object.values(sample)[0], onclick: () => fill(sample) }, `Example ${place + 1}`)));
}

/* A text area. Several texts are separated by lines, the texts of a pair by a tab. */
function written({ name, about, type }, text, place) {
  const control = textArea({ rows: 2, class: "writing", name, "aria-label": about.description, placeholder: about.description });
  control.value = recall(place, text);
  control.addEventListener("input", () => remember(place, control.value));
  const pair = (line) => (line.includes("\t") ? line.split("\t") : line);
  return { name, control, read: () => (type === "string" ? control.value : lines(control.value).map(pair)) };
}

function option({ name, about, type }, on) {
  if (type === "boolean") {
    const box = make("input", { type: "checkbox", name, checked: on || about.default });
    return { name, element: make("label", { class: "check", title: about.description }, box, titled(name)), read: () => box.checked };
  }
  const control = about.enum ? make("select", { name }, about.enum.map((value) => make("option", { value }, value)))
    : type === "lines" ? textArea({ name, rows: 1 })
    : make("input", type === "string" ? { type: "text", name } : { type: "number", inputmode: "decimal", name,
      min: about.minimum ?? null, max: about.maximum ?? null, step: type === "integer" ? 1 : "any" });
  control.value = type === "lines" ? "" : about.default ?? "";
  const read = () => {
    if (control.value === "" || control.value === String(about.default)) return undefined;
    return type === "string" ? control.value : type === "lines" ? lines(control.value) : Number(control.value);
  };
  return { name, element: field(titled(name), control, about.description), read };
}

/* The type of a control: boolean, integer, number, string or lines; null if no control fits. */
function typeOf(about) {
  const every = (about.anyOf ?? [about]).filter(({ type }) => type !== "null");
  if (every.some(({ type }) => type === "string")) return "string";
  const [{ type, items }] = every;
  if (type !== "array") return type;
  return (items.anyOf ?? [items]).some((one) => one.type === "string") ? "lines" : null;
}

const lines = (text) => text.split("\n").filter((line) => line.trim());
export const titled = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ").replaceAll("-", " ");
