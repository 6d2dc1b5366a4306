/* Inside: gradients, gates, attention and more, as the server sees them in each chosen model. */

import * as api from "../api.js";
import * as draw from "../draw.js";
import { examples, key, make, note, textArea, trouble } from "../elements.js";
import { card } from "../models.js";
import { recall, remember } from "../remember.js";

const TICKET = "when she tried to print her tickets , she found that the printer was out of toner . "
  + "she went to the stationery store to buy more toner . it was very overpriced . "
  + "after installing the toner into the printer , she finally printed her tickets";
const FIRST = "gradient-flow";
const KINDS = new Set(["curves", "heatMap", "bars", "colouredText"]);

export default { id: "inside", title: "Inside", task: ["inspect"], create };

function create() {
  const area = textArea({ rows: 2, class: "writing", "aria-label": "Text to read" });
  area.value = recall("inside", TICKET);
  const picker = make("div", { class: "views", role: "group", "aria-label": "What to look at" });
  const about = make("p", { class: "help" });
  const cards = make("div", { class: "cards wide" });
  let asked = [];
  let views = null;
  let chosen = recall("inside-view", FIRST);

  const look = api.latest(0, async (signal) => {
    await Promise.all(asked.map(async ({ model, place }) => {
      place.replaceChildren(note("Looking …"));
      try {
        const seen = await api.inspect({ model: model.id, text: area.value, view: chosen }, signal);
        place.replaceChildren(...seen.summary.map(note), ...seen.drawings.filter(({ kind }) => KINDS.has(kind)).map(picture));
      } catch (error) {
        if (api.overtaken(error)) throw error;
        place.replaceChildren(trouble(error));
      }
    }));
  });
  const pick = (id) => {
    chosen = views.some((view) => view.id === id) ? id : views[0].id;
    remember("inside-view", chosen);
    picker.querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", String(button.value === chosen)));
    about.textContent = views.find((view) => view.id === chosen).about;
    look();
  };
  const findViews = async () => {
    try {
      views = await api.inspectViews();
      picker.replaceChildren(...views.map(({ id }) => make("button", { type: "button", value: id, "aria-pressed": "false", onclick: () => pick(id) }, titled(id))));
      pick(chosen);
    } catch (error) {
      picker.replaceChildren(trouble(error));
    }
  };

  const form = make("form", { class: "asking", onsubmit: (event) => { event.preventDefault(); look(); } },
    make("div", { class: "paper" }, area),
    make("p", { class: "actions" }, make("button", { type: "submit", class: "main" }, "Look"),
      make("span", { class: "help" }, key("Ctrl"), " ", key("Enter"))),
    examples(area, {
      "tickets and printer": TICKET,
      "agreement": "the boys who the dog that the girl sees chases walk",
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
    if (views) look();
    else findViews();
  };
  return { element: make("div", { class: "inside" }, form, cards), show, hide: () => look.cancel() };
}

const picture = ({ kind, arguments: given }) => draw[kind](given);
const titled = (id) => id.charAt(0).toUpperCase() + id.slice(1).replaceAll("-", " ");
