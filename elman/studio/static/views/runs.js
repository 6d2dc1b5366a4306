/* Runs: the runs of a folder, with curves that are updated during training. */

import * as api from "../api.js";
import { curves, short } from "../draw.js";
import { make, note, trouble } from "../elements.js";
import { count, modelAndRecipe } from "../models.js";
import { recall, remember } from "../remember.js";

const EVERY = 3000; // milliseconds between updates
const MOST = 6; // curves in a drawing: one for each colour
const FIRST_KEYS = [/^valid/, /^train/, /^gradient_norm$/, /^learning_rate$/];
const NO_CURVE = new Set(["step", "epoch"]);
const LOGARITHMIC = /perplexity|gradient_norm/;

export default { id: "runs", title: "Runs", task: null, choose: false, create };

function create() {
  const list = make("div", { class: "runs" });
  const pictures = make("div", { class: "pictures" });
  const histories = new Map(); // name → { records, next, training }
  const known = new Map(); // name → the run, from the server
  let chosen = new Set(recall("runs", []));
  let timer = null;
  let seen = "";

  const look = async () => {
    try {
      const runs = (await api.runs()).sort((a, b) => Number(b.training) - Number(a.training));
      runs.forEach((run) => known.set(run.name, run));
      settle(runs);
      fillList(runs);
      const grown = await Promise.all([...chosen].map(readOn));
      if (grown.some(Boolean) || seen !== [...chosen].join()) drawAll();
    } catch (error) {
      list.replaceChildren(trouble(error));
    }
  };
  const settle = (runs) => {
    const names = new Set(runs.filter((run) => run.records > 0).map((run) => run.name));
    chosen = new Set([...chosen].filter((name) => names.has(name)));
    if (chosen.size) return;
    const live = runs.filter((run) => run.training && names.has(run.name));
    (live.length ? live : runs.filter((run) => names.has(run.name))).slice(0, 3).forEach((run) => chosen.add(run.name));
  };
  const readOn = async (name) => {
    const known = histories.get(name) ?? { records: [], next: 0, training: true };
    const part = await api.run(name, known.next);
    if (part.next < known.next) { histories.delete(name); return readOn(name); } // the run was restarted
    histories.set(name, { records: [...known.records, ...part.records], next: part.next, training: part.training });
    return part.records.length > 0;
  };
  const fillList = (runs) => {
    if (!runs.length) {
      list.replaceChildren(note("No runs to show. Start the server with --runs FOLDER, where FOLDER contains run folders. Runs in training appear here too, with live curves."));
      return;
    }
    const active = document.activeElement?.value;
    list.replaceChildren(make("table", { class: "table" }, make("caption", {}, "Choose up to six runs to see their curves."),
      make("thead", {}, make("tr", {}, ["", "Run", "Model", "Data", "Epochs", "Weights", "Validation"].map((name, place) => make("th", { scope: "col", class: place > 3 ? "number" : null }, name)))),
      make("tbody", {}, runs.map(row))));
    if (active) list.querySelector(`input[value="${CSS.escape(active)}"]`)?.focus();
  };
  const row = (run) => {
    const box = make("input", { type: "checkbox", value: run.name, checked: chosen.has(run.name), disabled: !run.records, title: run.records ? null : "no training history", "aria-label": `Curves of ${run.name}` });
    box.addEventListener("change", () => {
      if (box.checked && chosen.size >= MOST) { box.checked = false; return; }
      if (box.checked) chosen.add(run.name);
      else chosen.delete(run.name);
      remember("runs", [...chosen]);
      look();
    });
    return make("tr", {}, make("td", {}, box),
      make("th", { scope: "row" }, run.name, run.training ? make("span", { class: "live" }, "training") : null),
      make("td", { class: "quiet" }, modelAndRecipe(run)),
      make("td", { class: "quiet" }, run.data ?? "–"),
      make("td", { class: "number" }, run.epoch === null || run.epoch === undefined ? "–" : short(run.epoch)),
      make("td", { class: "number" }, run.parameters ? count(run.parameters) : "–"),
      make("td", { class: "number" }, measured(run.validation)));
  };
  const drawAll = () => {
    seen = [...chosen].join();
    const kept = [...chosen].map((name) => ({ name, data: known.get(name)?.data ?? "", records: lossesOf(histories.get(name)?.records ?? []) }));
    const datasets = [...new Set(kept.map(({ data }) => data))];
    const opened = new Set([...pictures.querySelectorAll("details.more[open]")].map((details) => details.dataset.name));
    pictures.replaceChildren(...datasets.map((data) => section(data, kept.filter((one) => one.data === data), datasets.length > 1, opened.has(data))));
  };
  const again = async () => {
    await look();
    if (timer !== null) timer = setTimeout(again, EVERY);
  };
  const show = () => { if (timer === null) { timer = 0; again(); } };
  const hide = () => { clearTimeout(timer); timer = null; };
  return { element: make("div", { class: "trainings" }, list, pictures), show, hide };
}

/* The curves of all runs on one dataset. Runs on different datasets never share an axis. */
function section(data, kept, named, open) {
  const keys = [...new Set(kept.flatMap(({ records }) => records.flatMap((record) => Object.keys(record).filter((key) => typeof record[key] === "number" && !NO_CURVE.has(key)))))];
  const place = (key) => { const found = FIRST_KEYS.findIndex((pattern) => pattern.test(key)); return found < 0 ? FIRST_KEYS.length : found; };
  keys.sort((a, b) => place(a) - place(b));
  const [first, more] = [true, false].map((shown) => keys.filter((key) => (place(key) < FIRST_KEYS.length) === shown));
  const drawn = (some) => make("div", { class: "grid" }, some.map((key) => curve(key, kept)));
  return make("section", { class: "dataset", "aria-label": `Curves on ${data || "an unknown dataset"}` },
    named ? make("h2", {}, data || "unknown dataset") : null, drawn(first),
    more.length ? make("details", { class: "more", "data-name": data, open }, make("summary", {}, "More curves"), drawn(more)) : null);
}

function curve(key, kept) {
  const series = kept.map(({ name, records }) => {
    const some = records.filter((record) => typeof record[key] === "number");
    return { name, x: some.map((record) => record.epoch ?? record.step), y: some.map((record) => record[key]) };
  }).filter(({ y }) => y.length);
  return make("div", { class: "card" }, curves({ title: titled(key), series, xLabel: "epoch", logY: LOGARITHMIC.test(key), height: 230 }));
}

/* Perplexity says little about labels: runs validated by errors or F1 show the training loss instead. */
function lossesOf(records) {
  if (!records.some((record) => Object.keys(record).some((key) => /^valid_(\w+_)?error$/.test(key)))) return records;
  return records.map(({ train_perplexity: perplexity, ...rest }) => (typeof perplexity === "number" ? { ...rest, train_loss: Math.log(perplexity) } : rest));
}

const WORDS = { valid: "validation", train: "training" };
const titled = (key) => {
  const words = key.split("_").map((word) => WORDS[word] ?? word).join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

export function measured(validation) {
  const found = Object.entries(validation ?? {}).find(([name, value]) => name !== "tokens" && typeof value === "number");
  return found ? `${found[0].replaceAll("_", " ")} ${short(found[1])}` : "–";
}
