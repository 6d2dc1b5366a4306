/* Generate: streams continuations with every decoding option, and shows how the options change the
distribution of the next token. */

import * as api from "../api.js";
import { bars, short } from "../draw.js";
import { key, make, note, textArea, trouble } from "../elements.js";
import { card, sampleTexts } from "../models.js";
import { recall, remember } from "../remember.js";
import { controls } from "./controls.js";

const SHOWN_TOKENS = 16;
const RESTING = 250; // milliseconds before the distribution is requested again

export default { id: "generate", title: "Generate", task: ["completions"], covers: ["generate", "distribution"], create };

function create(studio) {
  const prompt = textArea({ rows: 2, class: "writing", placeholder: "The text to continue (may be empty)", "aria-label": "Prompt" });
  prompt.value = recall("prompt", beginning(sampleTexts(studio.models)[0]) ?? "the president of the company said");
  const go = make("button", { type: "submit", class: "main" }, "Generate");
  const stop = make("button", { type: "button", disabled: true }, "Stop");
  const status = make("output", { class: "quiet", "aria-live": "polite" });
  const knobs = controls(studio.transforms);
  const cards = make("div", { class: "cards" });
  let asked = [];
  let running = null;

  const distributions = api.latest(RESTING, async (signal) => {
    await Promise.all(asked.map((one) => showDistribution(one, { prompt: prompt.value, ...knobs.transforms() }, signal)));
  });
  const generate = async () => {
    running?.abort();
    running = new AbortController();
    const own = running;
    stop.disabled = false;
    status.textContent = "Generating …";
    const request = { prompt: prompt.value, ...knobs.all() };
    const done = await Promise.all(asked.map((one) => write(one, request, own.signal)));
    if (running !== own) return;
    stop.disabled = true;
    status.textContent = own.signal.aborted ? "Stopped." : done.every(Boolean) ? "Done." : "";
    running = null;
  };
  const halt = () => running?.abort();

  const form = make("form", { class: "asking", onsubmit: (event) => { event.preventDefault(); generate(); } },
    make("div", { class: "paper" }, prompt),
    make("p", { class: "actions" }, go, stop, status, make("span", { class: "help keys" }, key("Ctrl"), " ", key("Enter"), " generates, ", key("Esc"), " stops")),
    knobs.element);
  form.addEventListener("input", () => { remember("prompt", prompt.value); distributions(); });
  stop.addEventListener("click", halt);
  const element = make("div", { class: "generate" }, form, cards);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); generate(); }
    if (event.key === "Escape") halt();
  });

  const show = (models) => {
    halt();
    asked = models.map((model) => {
      const samples = make("div", { class: "samples", "aria-label": `Continuations, ${model.id}` }, note("Nothing generated yet."));
      const place = make("div", { class: "distribution" });
      return { model, samples, place, card: card(model, samples, place) };
    });
    cards.replaceChildren(...asked.map((one) => one.card));
    distributions();
  };
  return { element, show, hide: () => { halt(); distributions.cancel(); } };
}

/* Streams the continuations of one model into its card; returns whether it succeeded. */
async function write({ model, samples }, request, signal) {
  const count = request.n ?? 1;
  const texts = Array.from({ length: count }, () => make("span", { class: "written" }));
  const told = make("p", { class: "quiet" });
  samples.replaceChildren(...texts.map((text) => make("p", { class: "sample" },
    make("span", { class: "quiet" }, request.prompt), text)), told);
  samples.classList.add("running");
  const began = performance.now();
  let tokens = 0;
  let seed = null;
  const ends = [];
  const tell = (end) => {
    const seconds = (performance.now() - began) / 1000;
    told.textContent = [`${short(tokens)} tokens`, `${short(tokens / seconds)} per second`,
      seed !== null && `seed ${seed}`, end].filter(Boolean).join(" · ");
  };
  try {
    await api.complete({ ...request, model: model.id, logprobs: 0 }, (event) => {
      seed = event.seed ?? seed;
      for (const choice of event.choices) {
        texts[choice.index].append(choice.text);
        tokens += choice.logprobs?.tokens?.length ?? 0;
        if (choice.finish_reason) ends.push(choice.finish_reason);
      }
      tell();
    }, signal);
    tell(ends.every((end) => end === "length") ? "reached the maximum length" : "ended before the maximum length");
    return true;
  } catch (error) {
    if (api.overtaken(error)) { tell("stopped"); return false; }
    samples.append(trouble(error));
    return false;
  } finally {
    samples.classList.remove("running");
  }
}

async function showDistribution({ model, place }, request, signal) {
  try {
    const found = await api.distribution({ ...request, model: model.id, top: SHOWN_TOKENS }, signal);
    const side = (name, { entropy, possible }) => make("span", {}, make("b", {}, name), ` ${short(entropy)} bits of entropy, ${short(possible)} possible tokens`);
    const opened = place.querySelector("details[open]") !== null;
    place.replaceChildren(
      bars({
        title: "The next token",
        names: found.tokens.map(({ token }) => shownToken(token)),
        series: [
          { name: "before the options", values: found.tokens.map(({ before }) => before) },
          { name: "after", values: found.tokens.map(({ after }) => after) },
        ],
        format: (share) => `${short(100 * share)} %`,
      }),
      make("p", { class: "sides" }, side("before", found.before), side("after", found.after)),
    );
    if (opened) place.querySelector("details").open = true;
  } catch (error) {
    if (api.overtaken(error)) throw error;
    place.replaceChildren(trouble(error));
  }
}

const beginning = (text) => text?.split(/\s+/).slice(0, 5).join(" ");
const shownToken = (token) => (token === "<eos>" ? "⏎ line end" : token.trim() === "" ? JSON.stringify(token) : token);
