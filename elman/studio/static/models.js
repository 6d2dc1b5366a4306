/* Chooses the models to ask: one checkbox for every served model that supports the view.

  const chooser = createChooser(models, onChange);
  chooser.offer("suggest")     shows the models that support the task; returns the chosen ones
*/

import { make } from "./elements.js";
import { recall, remember } from "./remember.js";
import { short } from "./draw.js";

const AT_FIRST = 3;

export function createChooser(models, onChange) {
  const element = make("fieldset", { class: "models" });
  const known = recall("models", null)?.filter((id) => models.some((model) => model.id === id));
  const chosen = new Set(known?.length ? known : models.map((model) => model.id));
  let task = null;
  const offer = (wanted) => {
    const changed = wanted !== task;
    task = wanted;
    const able = models.filter((model) => can(model, task));
    element.hidden = !task || able.length === 0;
    if (changed) element.replaceChildren(make("legend", {}, "Models"), ...able.map(option));
    const asked = able.filter((model) => chosen.has(model.id));
    if (!known && asked.length > AT_FIRST) return settle(asked.slice(0, AT_FIRST), able);
    return asked.length ? asked : settle(able.slice(0, 1), able);
  };
  const settle = (few, able) => {
    able.forEach((model) => (few.includes(model) ? chosen.add(model.id) : chosen.delete(model.id)));
    element.querySelectorAll("input").forEach((box) => { box.checked = chosen.has(box.value); });
    return few;
  };
  const option = (model) => {
    const box = make("input", { type: "checkbox", value: model.id, checked: chosen.has(model.id) });
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(model.id);
      else if (models.filter((other) => can(other, task) && chosen.has(other.id)).length > 1) chosen.delete(model.id);
      else box.checked = true; // at least one model stays chosen
      remember("models", [...chosen]);
      onChange();
    });
    return make("label", { class: "model", title: describe(model) }, box, make("span", {}, model.id),
      make("small", {}, kindOf(model)));
  };
  return { element, offer };
}

export const can = (model, task) => [task].flat().some((one) => model.tasks.includes(one));

const NAMES = { elman: "Elman", lstm: "LSTM", gru: "GRU", rhn: "RHN", nas: "NAS" };

/* The type of a model in one or two words. */
export function kindOf({ kind, about = {} }) {
  if (about.order && kind === "ngram") return `${about.order}-gram`;
  if (about.cell) return NAMES[about.cell] ?? about.cell;
  return kind;
}

/* The cell (or kind) and the recipe of a run: "LSTM, quick"; only "5-gram" for the recipe ngram. */
export function modelAndRecipe({ kind, cell, order, recipe }) {
  const name = kindOf({ kind, about: { cell, order } });
  return [...new Set([name, order && recipe === kind ? null : recipe].filter(Boolean))].join(", ");
}

/* Sample texts from the validation data, of the first model that has some. Runs of 0.1.0 have none. */
export function sampleTexts(models) {
  return models.map(({ samples = [] }) => samples.map(({ text }) => text).filter(Boolean)).find((texts) => texts.length) ?? [];
}

/* The sample texts as named examples; `others` if there are none. */
export function examplesFrom(models, others) {
  const texts = sampleTexts(models);
  return texts.length ? Object.fromEntries(texts.map((text, place) => [`Example ${place + 1}`, text])) : others;
}

/* A description of a model in one line. */
export function describe(model) {
  const { about = {}, parameters, validation } = model;
  const layers = Array.isArray(about.layers) && about.layers.every((size) => typeof size === "number") ? ` ${about.layers.join(" · ")}` : "";
  const measured = Object.entries(validation ?? {}).find(([name, value]) => name !== "tokens" && typeof value === "number");
  return [
    kindOf(model) + layers,
    about.smoothing,
    parameters && `${count(parameters)} weights`,
    measured && `${measured[0].replaceAll("_", " ")} ${short(measured[1])} on validation text`,
  ].filter(Boolean).join(", ");
}

export function count(number) {
  if (number >= 1e9) return `${short(number / 1e9)} G`;
  if (number >= 1e6) return `${short(number / 1e6)} M`;
  if (number >= 1e4) return `${Math.round(number / 1e3)} k`;
  return short(number);
}

/* A card with the name and description of a model; views add the content. */
export function card(model, ...children) {
  return make("section", { class: "card", "aria-label": model.id, "data-model": model.id },
    make("header", {}, make("h2", {}, model.id), make("p", { class: "quiet" }, describe(model))), children);
}
