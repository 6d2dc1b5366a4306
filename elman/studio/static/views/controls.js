/* The decoding options of the server (docs/api.md) as a form; options at their defaults are not sent.

  const knobs = controls(transforms);      the list of GET /v1/transforms
  knobs.element          the form
  knobs.all()            fields of /v1/completions
  knobs.transforms()     only the fields that change the distribution
*/

import { field, make } from "../elements.js";
import { recall, remember } from "../remember.js";

/* name, label, value when it is off, attributes of the input, help */
const PENALTIES = [
  ["repetition_penalty", "Repetition", 1, { min: 0.1, max: 10, step: 0.05 }, "above 1: makes generated tokens less likely"],
  ["frequency_penalty", "Frequency", 0, { min: -10, max: 10, step: 0.1 }, "subtracted each time a token was generated"],
  ["presence_penalty", "Presence", 0, { min: -10, max: 10, step: 0.1 }, "subtracted once from every generated token"],
];
const WHOLE = [
  ["max_tokens", "Max tokens", 16, { min: 1, step: 1 }, "longest continuation"],
  ["n", "Samples", 1, { min: 1, max: 8, step: 1 }, "from each model"],
  ["seed", "Seed", "", { min: 0, step: 1, placeholder: "any" }, "the same seed gives the same text"],
];
const IN_SIGHT = ["temperature", "top_k", "top_p"]; // the other transforms are in "More controls"
const AT_FIRST = { max_tokens: 60 };

/* A transform in the form of the rows above. */
const row = ({ option, type, off, least, most, about }) => [
  option, option[0].toUpperCase() + option.slice(1).replaceAll("_", " "), off ?? "",
  { ...(least !== null && { min: least }), ...(most !== null && { max: most }), step: type === "integer" ? 1 : "any" }, about,
];

export function controls(transforms) {
  const shaping = transforms.map(row);
  const [usual, others] = [true, false].map((shown) => shaping.filter(([name]) => IN_SIGHT.includes(name) === shown));
  const kept = recall("controls", AT_FIRST);
  const numbers = new Map();
  const number = ([name, label, off, attributes, help]) => {
    const input = make("input", { type: "number", inputmode: "decimal", name, placeholder: off === "" ? "off" : String(off), ...attributes });
    input.value = kept[name] ?? off;
    numbers.set(name, { input, off });
    return field(label, input, help);
  };
  const check = (name, label) => {
    const input = make("input", { type: "checkbox", name, checked: kept[name] ?? false });
    return [input, make("label", { class: "check" }, input, label)];
  };
  const stop = make("input", { type: "text", name: "stop", placeholder: "none" });
  stop.value = kept.stop ?? "";
  const [atLineEnd, atLineEndLabel] = check("stop_at_line_end", "Stop at the end of the line");
  const [unknown, unknownLabel] = check("allow_unknown", "Allow unknown words (<unk>)");
  const group = (title, ...parts) => make("fieldset", { class: "controls" }, make("legend", {}, title), parts);
  const main = make("div", { class: "controls" }, [...WHOLE, ...usual].map(number));
  const more = make("details", {}, make("summary", {}, "More controls"),
    group("Distribution", others.map(number)),
    group("Repetition penalties", PENALTIES.map(number)),
    group("Stopping", field("Stop before", stop, "up to four texts, separated by |"), make("div", { class: "checks" }, atLineEndLabel, unknownLabel)));
  const element = make("div", { class: "knobs" }, main, more);

  const given = (names) => Object.fromEntries([...numbers]
    .filter(([name, { input, off }]) => names.includes(name) && input.value !== "" && Number(input.value) !== off)
    .map(([name, { input }]) => [name, Number(input.value)]));
  const shaped = () => given([...shaping, ...PENALTIES].map(([name]) => name));
  const all = () => ({
    ...shaped(),
    ...given(WHOLE.map(([name]) => name)),
    ...(stop.value && { stop: stop.value.split("|").map((text) => text.replaceAll("\\n", "\n")).slice(0, 4) }),
    ...(atLineEnd.checked && { stop_at_line_end: true }),
    ...(unknown.checked && { allow_unknown: true }),
  });
  const reset = make("button", { type: "button", class: "small", onclick: () => {
    numbers.forEach(({ input, off }, name) => { input.value = AT_FIRST[name] ?? off; });
    stop.value = "";
    atLineEnd.checked = false;
    unknown.checked = false;
    element.dispatchEvent(new Event("input", { bubbles: true }));
  } }, "Reset to defaults");
  more.append(reset);
  more.open = Object.keys(all()).some((name) => !main.querySelector(`[name="${name}"]`));
  element.addEventListener("input", () => remember("controls", {
    ...Object.fromEntries([...numbers].map(([name, { input }]) => [name, input.value])),
    stop: stop.value, stop_at_line_end: atLineEnd.checked, allow_unknown: unknown.checked,
  }));
  return { element, all, transforms: shaped };
}
