// A model with its tokenizer: suggestions and surprisal of a text. What was read is remembered, so
// that typing on costs one step.
const Session = (model, tokenizer) => {
  const { data } = tokenizer, BEAM = 48, LONGEST = 24, HALF = "\ufffd";
  let read = [], states = [model.start()], predictions = [];
  const isByte = (token) => /^<0x..>$/.test(token);

  const advance = (ids) => {
    let same = 0;
    while (same < read.length && same < ids.length && read[same] === ids[same]) same++;
    read = read.slice(0, same); states = states.slice(0, same + 1); predictions = predictions.slice(0, same + 1);
    for (const id of ids.slice(same)) { states.push(model.read(id, states.at(-1))); read.push(id); }
  };
  const predicted = (n) => (predictions[n] ??= model.predict(states[n]));

  // The words of a text with their surprisal in bits.
  const surprisal = (text) => {
    text = tokenizer.normalise(text);
    const tokens = tokenizer.encode(text);
    advance(tokens.map((t) => t.id));
    const found = [];
    const bounds = [...text.matchAll(/\n|\S+/g)].map((m) => ({ word: m[0], start: m.index, end: m.index + m[0].length }));
    let at = 0;
    tokens.forEach((token, n) => {
      const bits = -predicted(n)[token.id] / Math.LN2;
      while (at < bounds.length - 1 && bounds[at].end < token.end) at++;
      if (!bounds.length) return;
      const own = bounds[at];
      if (found.at(-1)?.place !== at) found.push({ place: at, ...own, surprisal: 0, tokens: 0, unknown: false });
      const last = found.at(-1);
      last.surprisal += bits; last.tokens++;
      last.unknown ||= token.id === data.unknownId;
    });
    return { text, words: found.map(({ place, ...word }) => word), tokens: tokens.length };
  };

  const ranked = (found, top) =>
    [...found].sort((a, b) => b[1] - a[1]).slice(0, top).map(([token, probability]) => ({ token, probability }));

  const wordOf = data.tokens.map((token, id) => {
    if (id === data.eosId || id === data.unknownId || isByte(token)) return "";
    if (!data.spaceBeforeWords || token.startsWith(" ")) return token.trim();
    return /^[\p{L}\p{N}]/u.test(token) ? "" : token;
  });
  const wholeWords = (text, begun, top) => {
    const ids = tokenizer.encode(text).map((t) => t.id);
    advance(ids);
    const logProbs = predicted(ids.length), found = new Map();
    wordOf.forEach((word, id) => {
      if (word && word !== begun && word.startsWith(begun)) found.set(word, (found.get(word) || 0) + Math.exp(logProbs[id]));
    });
    return ranked(found, top);
  };

  let pieces = null;
  const certain = (s) => { let end = s.length; while (end && s[end - 1] === HALF) end--; return s.slice(0, end); };
  const mayBegin = (piece, rest) => {
    const whole = piece.split(HALF)[0];
    return piece.startsWith(rest) || (piece !== "" && rest.startsWith(whole));
  };
  const spelledWords = (text, begun, top) => {
    pieces ??= data.tokens.map((_, id) => {
      const piece = tokenizer.decode([id]);
      return { piece, starts: /^\s/.test(piece), usable: id !== data.eosId && id !== data.unknownId };
    });
    const wanted = (text && !text.endsWith("\n") ? " " : "") + begun;
    const ids = tokenizer.encode(text).map((t) => t.id);
    advance(ids);
    let live = [{ ids: [], text: "", logProb: 0, state: states[ids.length], from: predicted(ids.length) }];
    const found = new Map();
    for (let n = 0; n < LONGEST && live.length; n++) {
      const next = [];
      for (const one of live) {
        const logProbs = one.from ?? model.predict(one.state);
        let ends = 0;
        const rest = wanted.slice(certain(one.text).length);
        pieces.forEach(({ piece, starts, usable }, id) => {
          if (starts) ends += Math.exp(logProbs[id]);
          if (usable && (rest ? mayBegin(piece, rest) : !starts)) next.push({ one, id, logProb: one.logProb + logProbs[id] });
        });
        const spelled = one.text.trim();
        if (one.text.startsWith(wanted) && one.text !== wanted && !one.text.includes(HALF))
          found.set(spelled, (found.get(spelled) || 0) + Math.exp(one.logProb) * ends);
      }
      next.sort((a, b) => b.logProb - a.logProb);
      live = [];
      for (const { one, id, logProb } of next.slice(0, BEAM)) {
        if (logProb === -Infinity) break;
        const longer = [...one.ids, id], text = tokenizer.decode(longer), sure = certain(text);
        if ((sure.startsWith(wanted) || wanted.startsWith(sure)) && !sure.includes(HALF))
          live.push({ ids: longer, text, logProb, before: one.state, id });
      }
      const best = [...found.values()].sort((a, b) => b - a).slice(0, top);
      if (best.length === top && (!live.length || Math.exp(live[0].logProb) < best.at(-1))) break;
      for (const one of live) one.state = model.read(one.id, one.before);
    }
    return ranked(found, top);
  };

  // The most probable next words; with `complete`, endings of the last word.
  const suggest = (text, { top = 5, complete = false } = {}) => {
    text = tokenizer.normalise(text);
    let begun = "";
    if (complete) { begun = text.match(/\S*$/)[0]; text = text.slice(0, text.length - begun.length); }
    text = text.replace(/ +$/, "");
    return (tokenizer.words ? wholeWords : spelledWords)(text, begun, top);
  };
  // Log probabilities (natural) of all tokens after a text.
  const logProbs = (text) => {
    const ids = tokenizer.encode(tokenizer.normalise(text)).map((t) => t.id);
    advance(ids);
    return predicted(ids.length);
  };
  return { suggest, surprisal, logProbs, encode: (text) => tokenizer.encode(tokenizer.normalise(text)).map((t) => t.id) };
};
