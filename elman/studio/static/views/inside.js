/* Inside: gradients, gates, attention and other insights of each chosen model. */

import * as api from "../api.js";
import * as draw from "../draw.js";
import { examples, key, make, note, textArea, trouble } from "../elements.js";
import { can, card, examplesFrom, sampleTexts } from "../models.js";
import { recall, remember } from "../remember.js";

const TICKET = "when she tried to print her tickets , she found that the printer was out of toner . "
  + "she went to the stationery store to buy more toner . it was very overpriced . "
  + "after installing the toner into the printer , she finally printed her tickets";
const FIRST = "gradient-flow";
const WHOLE = "state"; // all layers together
const KINDS = new Set(["curves", "panels", "heatMap", "bars", "colouredText"]);

export default { id: "inside", title: "Inside", task: ["inspect"], create };

function create({ models }) {
  const area = textArea({ rows: 2, class: "writing", "aria-label": "Text to read" });
  const inspectable = models.filter((model) => can(model, "inspect")); // take sample texts from these models only
  area.value = recall("inside", sampleTexts(inspectable)[0] ?? TICKET);
  const picker = make("div", { class: "views", role: "group", "aria-label": "What to look at" });
  const about = make("p", { class: "help" });
  const cards = make("div", { class: "cards wide" });
  const together = make("div", { class: "together" });
  let asked = [];
  let chosen = null;
  const known = new Map(); // model → the views that it supports

  const look = api.latest(0, async (signal) => {
    if (!chosen) return; // the views are still loading; `pick` calls this again
    const able = ({ model }) => known.get(model.id)?.some((view) => view.id === chosen);
    asked.filter((one) => !able(one)).forEach(({ place }) => place.replaceChildren(note("This model does not support this view.")));
    const found = await Promise.all(asked.filter(able).map((one) => lookInto(one, { text: area.value, view: chosen }, signal)));
    together.replaceChildren(...sideBySide(found));
  });
  const pick = (id) => {
    const all = views();
    chosen = all.has(id) ? id : all.has(FIRST) ? FIRST : [...all.keys()][0];
    picker.querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", String(button.value === chosen)));
    about.textContent = chosen ? `${titled(all.get(chosen))}.` : "";
    look();
  };
  const views = () => new Map(asked.flatMap(({ model }) => known.get(model.id) ?? []).map((view) => [view.id, view.about]));
  const offer = async () => {
    try {
      await Promise.all(asked.filter(({ model }) => !known.has(model.id)).map(async ({ model }) => known.set(model.id, await api.inspectViews(model.id))));
      picker.replaceChildren(...[...views().keys()].map((id) => make("button", { type: "button", value: id, "aria-pressed": "false",
        onclick: () => { remember("inside-view", id); pick(id); } }, titled(id))));
      pick(recall("inside-view", FIRST));
    } catch (error) {
      picker.replaceChildren(trouble(error));
    }
  };

  const form = make("form", { class: "asking", onsubmit: (event) => { event.preventDefault(); look(); } },
    make("div", { class: "paper" }, area),
    make("p", { class: "actions" }, make("button", { type: "submit", class: "main" }, "Look"),
      make("span", { class: "help keys" }, key("Ctrl"), " ", key("Enter"))),
    examples(area, {
      "tickets and printer": TICKET,
      "agreement": "the boys who the dog that the girl sees chases walk",
      ...examplesFrom(inspectable, {}),
      "the text in Write": () => recall("text", TICKET),
    }),
    picker, about);
  area.addEventListener("input", () => remember("inside", area.value));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); look(); }
  });
  const show = (models) => {
    asked = models.map((model) => {
      const place = make("div", { class: "seen" });
      return { model, place, card: card(model, place) };
    });
    cards.replaceChildren(...asked.map((one) => one.card));
    offer();
  };
  return { element: make("div", { class: "inside" }, form, together, cards), show, hide: () => look.cancel() };
}

/* Shows the insight of one model in its card; returns its name and numbers, or null. */
async function lookInto({ model, place }, request, signal) {
  place.replaceChildren(note("Computing …"));
  try {
    const found = await api.inspect({ ...request, model: model.id }, signal);
    const seen = found.insights[request.view];
    place.replaceChildren(...unknownWords(found.unknown), ...seen.summary.map(note), ...seen.drawings.filter(({ kind }) => KINDS.has(kind)).map(picture));
    return { name: model.id, data: seen.data };
  } catch (error) {
    if (api.overtaken(error)) throw error;
    place.replaceChildren(trouble(error));
    return null;
  }
}

/* The out-of-vocabulary words, shown before the results because they affect them. */
function unknownWords(words = []) {
  if (!words.length) return [];
  return [make("p", { class: "note" }, "Out of vocabulary, read as ", make("code", {}, "<unk>"), ": ",
    words.flatMap((word, place) => [place ? ", " : "", make("span", { class: "unknown-words" }, word)]))];
}

/* If several models have gradient norms by distance: one drawing, relative to the norm at distance 0. */
function sideBySide(found) {
  const lines = found.filter((one) => one?.data?.by_distance).map(({ name, data }) => ({ name, y: whole(data.by_distance) }));
  if (lines.length < 2) return [];
  return [draw.curves({
    title: "Share of the gradient that is left, by distance",
    series: lines.map(({ name, y }) => ({ name, y: y.map((norm) => norm / (y[0] || 1)) })),
    xLabel: "distance in tokens", yLabel: "share", logY: true,
  })];
}

const whole = (norms) => norms[WHOLE] ?? Object.values(norms)[0];
const picture = ({ kind, arguments: given }) => draw[kind](given);
const titled = (id) => id.charAt(0).toUpperCase() + id.slice(1).replaceAll("-", " ");
