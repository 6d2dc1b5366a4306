/* Ladder: all runs, grouped by validation data, and a form that measures a text with every model. */

import * as api from "../api.js";
import { short } from "../draw.js";
import { examples, key, make, note, textArea, trouble } from "../elements.js";
import { count, modelAndRecipe } from "../models.js";
import { recall, remember } from "../remember.js";

export default { id: "ladder", title: "Ladder", task: null, covers: ["score"], create };

function create(studio) {
  const groups = make("div", { class: "groups" });
  const able = studio.models.filter((model) => model.tasks.includes("score"));
  const show = async () => {
    try {
      const found = await api.ladder();
      const names = [...new Set(found.map(({ data }) => data))];
      groups.replaceChildren(...(names.length ? names.map((name) => section(name, found.filter(({ data }) => data === name))) : [note("No run has a validation result.")]));
    } catch (error) {
      groups.replaceChildren(trouble(error));
    }
  };
  const element = make("div", { class: "ladder" }, groups, able.length ? measuring(able) : null);
  return { element, show };
}

/* The results on one corpus. Perplexities in different tables cannot be compared. */
function section(name, groups) {
  return make("section", { class: "group" }, make("h2", {}, name), groups.map(table));
}

function table({ data, unit, vocabulary_size: size, measure, lower_is_better: lower, tokens, counted, rows }) {
  const values = rows.map((row) => row.value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const about = ["Measured", tokens && `on ${short(tokens)} ${counted}`, unit && `in ${unit}`, size && `with a vocabulary of ${short(size)}`].filter(Boolean).join(" ");
  const inBits = rows.some((row) => typeof row.bits_per_byte === "number"); // comparable across tokenizers
  const heads = ["Run", "Model", "Weights", "Seconds", titled(measure), ...(inBits ? ["Bits per byte"] : []), ""];
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Ladder of ${data}: ${about}` }, make("table", { class: "table" },
      make("caption", {}, about),
      make("thead", {}, make("tr", {}, heads.map((name, place) => make("th", { scope: "col", class: place > 1 && name ? "number" : null }, name || make("span", { class: "hidden" }, "Picture"))))),
      make("tbody", {}, rows.map((row, place) => {
        const bar = make("i", { class: "rung" });
        const share = most === least ? 1 : lower ? row.value / most : (row.value - least * 0.9) / (most - least * 0.9);
        bar.style.setProperty("--share", `${Math.max(2, 100 * share)}%`);
        return make("tr", { class: place === 0 && rows.length > 1 ? "best" : null },
          make("th", { scope: "row" }, row.name, row.training ? make("span", { class: "live" }, "training") : null, row.served ? make("span", { class: "tag" }, "served") : null),
          make("td", { class: "quiet" }, modelAndRecipe(row)),
          make("td", { class: "number" }, row.parameters ? count(row.parameters) : "–"),
          make("td", { class: "number" }, row.seconds === null ? "–" : short(row.seconds)),
          make("td", { class: "number" }, make("b", {}, short(row.value))),
          inBits ? make("td", { class: "number" }, short(row.bits_per_byte)) : null,
          make("td", { class: "picture" }, rows.length > 1 ? bar : null));
      }))));
}

/* Measures a text with every served model. Bits per byte are always comparable. */
function measuring(able) {
  const area = textArea({ rows: 3, class: "writing", "aria-label": "Text to measure", placeholder: "A few lines" });
  area.value = recall("measure", "");
  const place = make("div", { class: "measured", "aria-live": "polite" });
  const measure = api.latest(0, async (signal) => {
    place.replaceChildren(note("Measuring …"));
    const rows = await Promise.all(able.map(async (model) => {
      try {
        return { model, found: await api.score({ model: model.id, text: area.value }, signal) };
      } catch (error) {
        if (api.overtaken(error)) throw error;
        return { model, error };
      }
    }));
    place.replaceChildren(scores(rows));
  });
  area.addEventListener("input", () => remember("measure", area.value));
  const form = make("form", { class: "asking", onsubmit: (event) => { event.preventDefault(); measure(); } },
    make("h2", {}, "Measure your own text"), make("div", { class: "paper" }, area),
    make("p", { class: "actions" }, make("button", { type: "submit", class: "main" }, "Measure"), make("span", { class: "help keys" }, key("Ctrl"), " ", key("Enter"))),
    examples(area, { "the text in Write": () => recall("text", "") }), place);
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); measure(); }
  });
  return form;
}

function scores(rows) {
  const size = ({ found }) => found?.bits_per_byte ?? Infinity;
  const heads = ["Model", "Bits per byte", "Perplexity", "Tokens", "Protocol"];
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Measured" }, make("table", { class: "table" },
    make("caption", {}, "Sorted by bits per byte, best first. Bits per byte can always be compared, perplexities only under the same protocol."),
    make("thead", {}, make("tr", {}, heads.map((name, place) => make("th", { scope: "col", class: place > 0 && place < 4 ? "number" : null }, name)))),
    make("tbody", {}, [...rows].sort((a, b) => size(a) - size(b)).map(({ model, found, error }) => make("tr", {},
      make("th", { scope: "row" }, model.id),
      ...(error ? [make("td", { colspan: 4 }, trouble(error))] : [found.bits_per_byte, found.perplexity, found.tokens].map((value) => make("td", { class: "number" }, short(value)))),
      error ? null : make("td", { class: "quiet" }, protocol(found.protocol)))))));
}

const protocol = (said) => (typeof said === "string" ? said : said?.signature ?? "");
const titled = (measure) => measure.charAt(0).toUpperCase() + measure.slice(1).replaceAll("_", " ");
