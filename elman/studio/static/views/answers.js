/* Shows answers: ANSWERS[question](answer, request), or `readable` for all other questions. */

import { bars, colouredText, heatMap, short } from "../draw.js";
import { make, note } from "../elements.js";
import { titled } from "./form.js";

export const ANSWERS = { tag: tagged, classify: classified, answer: answered, translate: translated, explain: explained };

function tagged({ sentences }) {
  const likeliest = (shares) => Object.entries(shares ?? {}).slice(0, 5).map(([tag, share]) => `${tag} ${percent(share)}`);
  return sentences.map(({ words, tags, spans, probabilities }) => make("div", {},
    make("p", { class: "tagged" }, words.map((word, place) => make("span", { class: tags[place] === "O" ? "outside" : null }, make("b", {}, word), make("small", {}, tags[place]),
      probabilities ? make("small", { title: likeliest(probabilities[place]).join(", ") }, likeliest(probabilities[place])[0]) : null))),
    spans?.length ? make("ul", { class: "spans" }, spans.map((span) => make("li", {}, make("b", {}, span.text), ` ${span.kind}`))) : null));
}

function classified({ results }) {
  if (results.some((result) => "labels" in result)) return results.filter(({ labels }) => labels !== null).flatMap(severalLabels);
  return results.filter(({ label }) => label !== null).flatMap(({ label, probability, probabilities, words }) => {
    const shares = Object.entries(probabilities).sort((a, b) => b[1] - a[1]);
    return [make("p", { class: "sum" }, make("b", {}, String(label)), ` with ${percent(probability)}`),
      bars({ title: "", names: shares.map(([name]) => name), series: [{ name: "probability", values: shares.map(([, share]) => share) }], max: 1, format: percent }),
      words?.length ? colouredText({ title: `Contribution of each word to “${label}”`, label: "contribution", diverging: true,
        words: words.map(({ word, contribution }) => ({ text: `${word} `, value: contribution })) }) : null].filter(Boolean);
  });
}

/* Texts with any number of labels: each label has its own probability. */
function severalLabels({ labels, probabilities }) {
  const shares = Object.entries(probabilities);
  return [make("p", { class: "sum" }, labels.length ? labels.flatMap((label, place) => [place ? ", " : "", make("b", {}, label)]) : "no label"),
    bars({ title: "", names: shares.map(([name]) => name), series: [{ name: "probability", values: shares.map(([, share]) => share) }], max: 1, format: percent })];
}

function answered({ answers }, { passage }) {
  const letters = Array.from(passage); // the server counts code points; string positions are UTF-16 units
  const part = (from, to) => letters.slice(from, to).join("");
  return answers.flatMap(({ answer, start, end, probability }) => [
    make("p", { class: "passage" }, part(0, start), make("mark", {}, part(start, end)), part(end)),
    make("p", { class: "sum" }, make("b", {}, answer || "no answer"), ` with ${percent(probability)}`)]);
}

function translated({ translations }) {
  return translations.flatMap(({ text, n_best: others, attention }) => [text.trim() ? make("p", { class: "translation" }, text) : note("The translation is empty: the model ended the sentence at once."),
    others.length > 1 ? table(others) : null,
    attention?.target.length ? heatMap({ title: "Attention", rows: attention.target, columns: attention.source,
      values: attention.weights, rowLabel: "written", columnLabel: "read", low: 0, high: 1 }) : null]).filter(Boolean);
}

/* One line per token; it opens a table with the counts of every order. */
function explained({ tokens }) {
  const words = tokens.map(({ token }) => (token === "<eos>" ? "⏎" : token.trim()));
  const context = (place, size) => Array.from({ length: size }, (_, number) => words[place - size + number] ?? "⏎").join(" ");
  return tokens.map(({ probability, answered_by: order, orders }, place) => make("details", { class: "explained" },
    make("summary", {}, make("b", {}, words[place]), ` ${probability === null ? "undefined" : short(probability)}, answered by order ${order}`),
    table(orders.map((row) => ({ order: row.order, context: context(place, row.context.length) || "–", count: row.count, of: row.total,
      followers: row.followers, discount: row.discount, alpha: row.alpha, backoff: row.backoff, p: row.probability })))));
}

/* Any data: lists of objects as tables, nested lists one by one, single values as rows. */
export function readable(data) {
  const single = Object.entries(data).filter(([, value]) => isSingle(value));
  const facts = single.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, titled(name)), make("td", {}, shown(value))));
  return [facts.length ? make("table", { class: "table facts" }, make("tbody", {}, facts)) : [], ...Object.entries(data).filter(([, value]) => !isSingle(value)).flatMap(([name, value]) => {
    if (!Array.isArray(value)) return [make("h3", {}, titled(name)), ...readable(value)];
    if (Array.isArray(value[0])) return [make("p", {}, make("b", {}, titled(name)), ` ${sizes(value)} numbers`)];
    const deep = value.some((one) => Object.values(one).some((part) => !isSingle(part)));
    return deep ? value.flatMap((one) => make("div", { class: "part" }, readable(one))) : [table(value, titled(name))];
  })].flat();
}

function table(rows, title = null) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const number = (row, name) => (typeof row[name] === "number" ? "number" : null);
  return make("div", { class: "scroll", tabindex: 0 }, make("table", { class: "table" },
    title ? make("caption", {}, title) : null,
    make("thead", {}, make("tr", {}, names.map((name) => make("th", { scope: "col", class: number(rows[0], name) }, titled(name))))),
    make("tbody", {}, rows.map((row) => make("tr", {}, names.map((name) => make("td", { class: number(row, name) }, shown(row[name]))))))));
}

const isPlain = (value) => value === null || typeof value !== "object";
const isSingle = (value) => isPlain(value) || (Array.isArray(value) && value.every(isPlain));
const sizes = (list) => (Array.isArray(list) ? [list.length, sizes(list[0])].filter((size) => size !== "").join(" × ") : "");
const shown = (value) => (Array.isArray(value) ? value.map(shown).join(" ") : typeof value === "number" ? short(value) : value === null || value === undefined ? "–" : String(value));
const percent = (share) => `${short(100 * share)} %`;
