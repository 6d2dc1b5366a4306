// A model as a module: import { suggest, surprisal } from "./model.js".
let shared;
const model = () => (shared ??= load());

// A session of its own, with its own memory of the text; the functions below share one.
export function load() { return Elman.load(JSON.parse(DATA), WEIGHTS); }
// The most probable next words; with `complete`, endings of the last word.
export function suggest(text, options) { return model().suggest(text, options); }
// The words of a text with their surprisal in bits, and the sum.
export function surprisal(text, options) { return model().surprisal(text, options); }
// Natural logarithms of the probabilities of the next token, by id.
export function logProbs(text) { return model().logProbs(text); }
// The ids of a text.
export function encode(text) { return model().encode(text); }
