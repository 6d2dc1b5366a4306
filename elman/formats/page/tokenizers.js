// Text to tokens with their places, for every tokenizer of elman: {id, start, end}.
const Tokenizers = (() => {
  const utf8 = new TextEncoder(), text = new TextDecoder("utf-8", { ignoreBOM: true });
  const lower = (s) => s.split("İ").map((part) => part.toLowerCase()).join("İ");
  const opens = `(?<![^${SPACE}(\\[{—–-])`;
  const single = new RegExp(`${opens}'(?=[\\p{L}\\p{N}_])`, "gu"), double = new RegExp(`${opens}"`, "gu");
  const curl = (s) => s.replace(single, "‘").replace(/'/g, "’").replace(double, "“").replace(/"/g, "”");
  const normaliser = (data) => (s) => {
    if (data.form !== "none") s = s.normalize("NFC");
    if (data.form === "nfc+quotes") {
      s = s.replace(/[‘’ʼ]/g, "'").replace(/[“”„]/g, '"');
      if (data.typographic) s = curl(s);
    }
    return data.lowercase ? lower(s) : s;
  };
  const byLine = (s, encodeLine, eos) => {
    const out = [];
    let start = 0;
    s.split("\n").forEach((line, n) => {
      if (n) out.push({ id: eos, start: start - 1, end: start });
      for (const t of encodeLine(line)) out.push({ id: t.id, start: start + t.start, end: start + t.end });
      start += line.length + 1;
    });
    return out;
  };
  const index = (tokens) => new Map(tokens.map((token, id) => [token, id]));

  const words = (data) => {
    const ids = index(data.tokens), unknown = data.unknownId;
    let form = null; // learned from the vocabulary with the first text: the page opens faster
    const line = (s) => {
      if (!s) return [];
      form ??= CorpusForm(data.tokens.filter((t) => t !== "<eos>" && t !== "<unk>"));
      return form(s).map(([token, start, end]) => ({ id: ids.get(token) ?? unknown, start, end }));
    };
    return { encode: (s) => byLine(s, line, data.eosId), words: true };
  };
  const SCRIPTS_WITHOUT_SPACES = "\\u0e01-\\u0e4e\\u0e81-\\u0ece\\u1000-\\u103f\\u1050-\\u108f\\u1780-\\u17d3" +
    "\\u2e80-\\u2fdf\\u3005-\\u3007\\u3021-\\u3029\\u3041-\\u3096\\u309d-\\u309f\\u30a1-\\u30fa\\u30fc-\\u30ff" +
    "\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\uff66-\\uff9f\\u{20000}-\\u{3ffff}"; // as in text/letters.py
  const rawWords = (data) => {
    const ids = index(data.words), letter = "[\\p{L}\\p{Nl}\\p{No}]", space = `[${SPACE.replace("\\t-\\r", "\\t\\v-\\r")}]`;
    const elided = data.elisions ? `| ?(?!aujourd['’]hui)${letter}+['’](?=${letter})` : "";
    // In runs before 0.2, combining marks are tokens, and so are whole clauses without spaces.
    const spaced = `(?:(?![${SCRIPTS_WITHOUT_SPACES}])${letter})`, marks = "[\\p{M}\\u200c\\u200d]";
    const letters = data.scripts ? `${spaced}+(?:${marks}+${spaced}*)*` : `${letter}+`;
    const ideograph = data.scripts ? `| ?[${SCRIPTS_WITHOUT_SPACES}]${marks}*` : "";
    const combined = data.scripts ? `${marks}*` : "";
    const pieces = new RegExp(`\\n${elided}| ?${letters}(?:['’]${letters})*| ?\\p{Nd}+${ideograph}| ?(?:[^\\p{L}\\p{N}_${SPACE}]|_)${combined}|${space}+(?= [^${SPACE}])|${space}+`, data.elisions ? "giu" : "gu");
    const line = (s) => {
      if (!s) return [];
      return [...` ${s}`.matchAll(pieces)].flatMap((match) => {
        const start = Math.max(match.index - 1, 0), end = match.index + match[0].length - 1;
        const id = ids.get(match[0]);
        if (id !== undefined) return [{ id: id + 257, start, end }];
        return [...utf8.encode(match[0])].map((byte) => ({ id: byte + 1, start, end }));
      });
    };
    return { encode: (s) => byLine(s, line, data.eosId), words: true };
  };
  const characters = (data) => {
    const ids = index(["\n", null, ...data.characters]);
    return {
      encode: (s) => {
        const out = [];
        let start = 0;
        for (const c of s) { out.push({ id: ids.get(c) ?? 1, start, end: start + c.length }); start += c.length; }
        return out;
      },
      decode: (numbers) => numbers.map((n) => (n === 0 ? "\n" : data.tokens[n])).join(""),
    };
  };
  const bytes = () => ({
    encode: (s) => {
      const out = [];
      let start = 0;
      for (const c of s) {
        for (const byte of utf8.encode(c)) out.push({ id: byte, start, end: start + c.length });
        start += c.length;
      }
      return out;
    },
    decode: (numbers) => text.decode(new Uint8Array(numbers)),
  });

  // The characters that stand for the 256 bytes in byte-level BPE.
  const byteNames = () => {
    const plain = (b) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    let next = 256;
    return Array.from({ length: 256 }, (_, b) => String.fromCharCode(plain(b) ? b : next++));
  };
  const bpe = (data) => {
    const names = byteNames(), bytesOf = index(names), ids = new Map(Object.entries(data.model.vocab));
    const ranks = new Map(data.model.merges.map((m, n) => [Array.isArray(m) ? m.join(" ") : m, n]));
    const space = "\\p{White_Space}", pieces = new RegExp(
      `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${space}\\p{L}\\p{N}]+|${space}+(?!\\P{White_Space})|${space}+`, "gu");
    const remembered = new Map();
    const merge = (word) => {
      if (remembered.has(word)) return remembered.get(word);
      const parts = [...utf8.encode(word)].map((b) => names[b]);
      for (;;) {
        let best = Infinity, at = -1;
        for (let i = 0; i + 1 < parts.length; i++) {
          const rank = ranks.get(`${parts[i]} ${parts[i + 1]}`);
          if (rank !== undefined && rank < best) { best = rank; at = i; }
        }
        if (at < 0) break;
        parts.splice(at, 2, parts[at] + parts[at + 1]);
      }
      remembered.set(word, parts);
      return parts;
    };
    const line = (s) => [...s.matchAll(pieces)].flatMap((match) => {
      // Places in characters: a part may be some bytes of one.
      const starts = [];
      let place = match.index;
      for (const c of match[0]) {
        for (let b = 0; b < utf8.encode(c).length; b++) starts.push([place, place + c.length]);
        place += c.length;
      }
      let at = 0;
      return merge(match[0]).map((part) => {
        const start = starts[at][0], end = starts[at + part.length - 1][1];
        at += part.length;
        return { id: ids.get(part) + 1, start, end };
      });
    });
    const byId = [];
    for (const [piece, id] of ids) byId[id] = [...piece].map((c) => bytesOf.get(c));
    return {
      encode: (s) => byLine(s, line, data.eosId),
      decode: (numbers) => text.decode(new Uint8Array(numbers.flatMap((n) => (n === 0 ? [10] : byId[n - 1])))),
    };
  };
  const unigram = (data) => {
    const scores = new Map(), ids = new Map(), vocab = data.model.vocab;
    vocab.forEach(([piece, score], id) => { if (id) { scores.set(piece, score); ids.set(piece, id); } });
    const lowest = Math.min(...vocab.map(([, score]) => score)) - 10;
    const longest = Math.max(...vocab.map(([piece]) => piece.length));
    const best = (word) => {
      // The most probable pieces (Viterbi), from left to right.
      const at = [{ score: 0 }];
      for (let end = 1; end <= word.length; end++) {
        for (let start = Math.max(0, end - longest); start < end; start++) {
          if (!at[start]) continue;
          const piece = word.slice(start, end), known = scores.get(piece);
          const single = [...piece].length === 1;
          if (known === undefined && !single) continue;
          const score = at[start].score + (known ?? lowest);
          if (!at[end] || score > at[end].score) at[end] = { score, start, id: known === undefined ? 0 : ids.get(piece) };
        }
      }
      const out = [];
      for (let end = word.length; end > 0; end = at[end].start) out.unshift({ id: at[end].id, start: at[end].start, end });
      return out;
    };
    const line = (s) => {
      const out = [];
      for (const match of s.matchAll(/ [^ ]*|^[^ ]+/g)) {
        let last = -1;
        for (const { id, start, end } of best(match[0])) {
          // Neighbouring unknown characters are one unknown piece.
          if (id === 0 && last === 0) out.at(-1).end = match.index + end;
          else out.push({ id: id + 1, start: match.index + start, end: match.index + end });
          last = id;
        }
      }
      return out;
    };
    return {
      encode: (s) => byLine(s, line, data.eosId),
      decode: (numbers) => numbers.map((n) => (n === 0 ? "\n" : data.tokens[n])).join(""),
    };
  };

  const kinds = { words, "raw-words": rawWords, characters, bytes, bpe, unigram };
  const make = (data) => ({ ...kinds[data.kind](data), normalise: normaliser(data), data });
  return { make };
})();
