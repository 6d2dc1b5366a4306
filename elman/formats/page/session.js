// The logarithm of the probability of some tokens together.
const logMass = (ids, logProbs) => {
  let sum = 0;
  for (const id of ids) sum += Math.exp(logProbs[id]);
  return Math.log(sum);
};

// What a model has read: its states and the numbers of each token. Reading on costs one step.
const Trail = (model, fresh, begins) => {
  const KEPT = 8; // whole distributions are large: only the last few stay
  let read = [], states = [model.start()], scores = [], edges = [];
  const predictions = new Map();

  const forget = (place) => {
    read = read.slice(0, place); scores = scores.slice(0, place);
    states = states.slice(0, place + 1); edges = edges.slice(0, place + 1);
    for (const n of predictions.keys()) if (n > place) predictions.delete(n);
  };
  // Read these ids; the first `ids.length` places then belong to them.
  const advance = (ids) => {
    let same = 0;
    while (same < read.length && same < ids.length && read[same] === ids[same]) same++;
    if (same === ids.length) return;
    forget(same);
    for (const id of ids.slice(same)) {
      states.push(id === fresh ? model.start() : model.read(id, states.at(-1)));
      read.push(id);
    }
  };
  const predicted = (n) => {
    let found = predictions.get(n);
    if (!found) {
      predictions.set(n, (found = model.predict(states[n])));
      if (predictions.size > KEPT) predictions.delete(predictions.keys().next().value);
    }
    return found;
  };
  return {
    advance, predicted,
    state: (n) => states[n],
    logProb: (n) => (scores[n] ??= predicted(n)[read[n]]),
    // The log probability that a new word or the line end comes at this place.
    boundary: (n) => (edges[n] ??= logMass(begins, predicted(n))),
  };
};

// A model with its tokenizer: suggestions and surprisal of a text.
const Session = (model, tokenizer) => {
  const { data } = tokenizer, BEAM = 48, LONGEST = 24, HALF = "\ufffd", NONE = -1;
  const beginsWord = data.beginsWord && Uint8Array.from(data.beginsWord, Number);
  const begins = beginsWord && [...beginsWord.keys()].filter((id) => beginsWord[id]);
  const stream = Trail(model, NONE, begins);
  let lines = null; // the trail of texts with several lines
  const isByte = (token) => /^<0x..>$/.test(token);
  // Words and line ends; a text of spaces only is one.
  const places = (text) => {
    const words = [...text.matchAll(WORDS)], found = words.length ? words : [...text.matchAll(/.+/g)];
    return found.map((m) => ({ word: m[0], start: m.index, end: m.index + m[0].length }));
  };

  // The words of a text, each with its tokens: from `first` to before `last`.
  const grouped = (text) => {
    const normal = tokenizer.normalise(text), tokens = tokenizer.encode(normal), bounds = places(normal);
    const shown = places(text), words = []; // the same words, as they were typed
    let at = 0, owner = null;
    if (bounds.length) tokens.forEach((token, n) => {
      while (at < bounds.length - 1 && bounds[at].end < token.end) at++;
      if (owner !== at) words.push({ ...(shown.length === bounds.length ? shown : bounds)[at], first: n });
      owner = at;
      words.at(-1).last = n + 1;
    });
    return { tokens: tokens.map((t) => t.id), words };
  };
  // The words of a text with their surprisal in bits. That of a whole word: the sum over its tokens,
  // corrected for the boundaries before and after it (evaluation/word_boundaries.py).
  const surprisal = (text, { reset = "line" } = {}) => {
    const { tokens, words } = grouped(text);
    // Until the first line end, both trails are the same: one is enough.
    const trail = reset === "line" && tokens.includes(data.eosId) ? (lines ??= Trail(model, data.eosId, begins)) : stream;
    trail.advance(tokens);
    const edge = (n) => {
      const isInside = begins && n && tokens[n - 1] !== data.eosId;
      return isInside && (n === tokens.length || beginsWord[tokens[n]]) ? trail.boundary(n) : 0;
    };
    const measured = words.map(({ first, last, ...word }) => {
      let nats = 0, unknown = false;
      for (let n = first; n < last; n++) {
        nats -= trail.logProb(n);
        unknown ||= tokens[n] === data.unknownId;
      }
      const before = edge(first), whole = before === -Infinity ? nats : Math.max(nats + before - edge(last), 0);
      return { ...word, surprisal: whole / Math.LN2, uncorrected: nats / Math.LN2, tokens: last - first, unknown };
    });
    return { text, words: measured, tokens: tokens.length, bits: measured.reduce((sum, word) => sum + word.surprisal, 0) };
  };

  const ranked = (found, top) =>
    [...found].sort((a, b) => b[1] - a[1]).slice(0, top).map(([token, probability]) => ({ token, probability }));

  const wordOf = data.tokens.map((token, id) => {
    if (id === data.eosId || id === data.unknownId || isByte(token)) return "";
    if (!data.spaceBeforeWords || token.startsWith(" ")) return token.replace(AROUND, "");
    return /^[\p{L}\p{N}]/u.test(token) ? "" : token;
  });
  const wholeWords = (text, begun, top) => {
    const ids = tokenizer.encode(text).map((t) => t.id);
    stream.advance(ids);
    const logProbs = stream.predicted(ids.length), found = new Map();
    wordOf.forEach((word, id) => {
      if (word && word !== begun && word.startsWith(begun)) found.set(word, (found.get(word) || 0) + Math.exp(logProbs[id]));
    });
    return ranked(found, top);
  };

  const certain = (s) => { let end = s.length; while (end && s[end - 1] === HALF) end--; return s.slice(0, end); };
  const mayBegin = (piece, rest) => {
    const whole = piece.split(HALF)[0];
    return piece.startsWith(rest) || (piece !== "" && rest.startsWith(whole));
  };
  let pieces = null, fitting = new Map();
  // The tokens that continue the rest of a typed beginning; after it, all tokens within a word.
  const fits = (rest) => {
    if (!fitting.has(rest)) {
      pieces ??= data.tokens.map((_, id) => tokenizer.decode([id]));
      if (fitting.size > 500) fitting = new Map();
      const ids = [...pieces.keys()].filter((id) => id !== data.eosId && id !== data.unknownId);
      fitting.set(rest, ids.filter((id) => (rest ? mayBegin(pieces[id], rest) : !beginsWord[id])));
    }
    return fitting.get(rest);
  };
  // Add to the best few, which stay sorted; of equals, the first stays in front.
  const keep = (best, logProb, one, id) => {
    if (logProb === -Infinity || (best.length === BEAM && logProb <= best[BEAM - 1].logProb)) return;
    let at = best.length;
    while (at && best[at - 1].logProb < logProb) at--;
    best.splice(at, 0, { one, id, logProb });
    if (best.length > BEAM) best.pop();
  };
  const extended = ({ one, id, logProb }, wanted) => {
    const ids = [...one.ids, id], text = tokenizer.decode(ids), sure = certain(text);
    const agrees = (sure.startsWith(wanted) || wanted.startsWith(sure)) && !sure.includes(HALF);
    return agrees ? [{ ids, text, logProb, before: one.state, id }] : [];
  };
  const spelledWords = (text, begun, top) => {
    const wanted = (text && !text.endsWith("\n") ? " " : "") + begun;
    const ids = tokenizer.encode(text).map((t) => t.id);
    stream.advance(ids);
    let live = [{ ids: [], text: "", logProb: 0, state: stream.state(ids.length), from: stream.predicted(ids.length) }];
    const found = new Map();
    for (let n = 0; n < LONGEST && live.length; n++) {
      const best = [];
      for (const one of live) {
        const logProbs = one.from ?? model.predict(one.state);
        if (one.text.startsWith(wanted) && one.text !== wanted && !one.text.includes(HALF)) {
          const spelled = one.text.replace(AROUND, "");
          found.set(spelled, (found.get(spelled) || 0) + Math.exp(one.logProb + logMass(begins, logProbs)));
        }
        for (const id of fits(wanted.slice(certain(one.text).length))) keep(best, one.logProb + logProbs[id], one, id);
      }
      live = best.flatMap((one) => extended(one, wanted));
      const probable = [...found.values()].sort((a, b) => b - a).slice(0, top);
      if (probable.length === top && (!live.length || Math.exp(live[0].logProb) < probable.at(-1))) break;
      for (const one of live) one.state = model.read(one.id, one.before);
    }
    return ranked(found, top);
  };

  // The most probable next words; with `complete`, endings of the last word.
  const suggest = (text, { top = 5, complete = false } = {}) => {
    text = tokenizer.normalise(text);
    let begun = "";
    if (complete) { begun = text.match(LAST)[0]; text = text.slice(0, text.length - begun.length); }
    text = text.replace(/ +$/, "");
    return (tokenizer.words ? wholeWords : spelledWords)(text, begun, top);
  };
  // Log probabilities (natural) of all tokens after a text.
  const logProbs = (text) => {
    const ids = tokenizer.encode(tokenizer.normalise(text)).map((t) => t.id);
    stream.advance(ids);
    return stream.predicted(ids.length);
  };
  return { spells: !tokenizer.words, suggest, surprisal, logProbs, encode: (text) => tokenizer.encode(tokenizer.normalise(text)).map((t) => t.id) };
};
