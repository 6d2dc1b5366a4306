// Splits typed text like the training text; the same rules as text/corpus_form.py.
const SPACE = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"; // as in Python
const WORDS = new RegExp(`\\n|[^${SPACE}]+`, "g"), LAST = new RegExp(`[^${SPACE}]*$`), AROUND = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "g");
const CorpusForm = (() => {
  const UNKNOWN = "<unk>", MARKS = "\\p{M}\\u200c\\u200d", WORD = "[\\p{L}\\p{N}_]", APOSTROPHES = "'’";
  const CLAUSE_MARKS = ".,;:!?،؛؟۔।॥።፣၊။。，、；：！？", SENTENCE_MARKS = [...CLAUSE_MARKS, ..."\"()", "``", "''"];
  const OTHER_NAMES = {
    '"': [["``", "''"], ["“", "”"]], "(": [["-lrb-", "-lrb-"], ["-LRB-", "-LRB-"]],
    ")": [["-rrb-", "-rrb-"], ["-RRB-", "-RRB-"]], "[": [["-lsb-", "-lsb-"], ["-LSB-", "-LSB-"]],
    "]": [["-rsb-", "-rsb-"], ["-RSB-", "-RSB-"]],
  };
  const LETTER = /[\p{L}\p{N}\p{M}\u200c\u200d]/u, NUMBER = /^\p{Nd}[\p{Nd}.,\/:-]*$/u, UPPER = /\p{Lu}/u;
  const INNER = new RegExp(`(?<=[\\p{L}\\p{N}_${MARKS}])[^\\p{L}\\p{N}_${MARKS}${SPACE}](?=${WORD})`, "gu");
  const CUTS = new RegExp(`${INNER.source}|(?<=${WORD}\\.)[-\\/](?=${WORD})`, "gu");
  const CHUNK = new RegExp(`<unk>|(?:(?!<unk>)[^${SPACE}])+`, "g");
  const isLetter = (c) => LETTER.test(c);
  const isMark = (word) => !isLetter(word);
  const isMarkedWord = (word) => !isMark(word) && !("<-".includes(word[0]) && ">-".includes(word.at(-1)));
  const stripEnd = (word, marks) => {
    let end = word.length;
    while (end && marks.includes(word[end - 1])) end--;
    return word.slice(0, end);
  };

  return (words) => {
    const ranks = new Map(), ending = {}, beginning = {}, inside = {};
    words.forEach((word, rank) => { if (!ranks.has(word)) ranks.set(word, rank); });
    let capitals = 0, hasNumbers = false;
    for (const [word, rank] of ranks) {
      if (isMarkedWord(word)) {
        const first = [...word][0], last = [...word].at(-1);
        ending[last] = (ending[last] || 0) + 1;
        beginning[first] = (beginning[first] || 0) + 1;
      }
      for (const mark of new Set(word.match(INNER) || [])) inside[mark] = (inside[mark] || 0) + 1 / (rank + 3);
      if (word.length > 1 && UPPER.test(word)) capitals++;
      if (NUMBER.test(word)) hasNumbers = true;
    }
    const lowercase = capitals <= 0.001 * ranks.size;
    const cased = (word) => (lowercase && !ranks.has(word) ? word.toLowerCase() : word);
    const knows = (word) => word === UNKNOWN || ranks.has(cased(word));
    const rank = (word) => ranks.get(cased(word)) ?? ranks.size;
    const token = (word) => {
      if (knows(word) || !/\p{Nd}/u.test(word)) return cased(word);
      return ranks.has("N") && !hasNumbers && NUMBER.test(word) ? "N" : cased(word);
    };
    const markToken = (mark, atEnd) => {
      if (knows(mark)) return mark;
      for (const names of OTHER_NAMES[mark] || []) if (ranks.has(names[atEnd])) return names[atEnd];
      return null;
    };
    const isAttached = (mark, counts) => {
      const count = counts[mark] || 0;
      if (knows(mark)) return count / (ranks.size + 3) > 1 / (rank(mark) + 3);
      return count > Math.max(0.03 * ranks.size, 3);
    };
    const goesOff = (c, counts) => !isLetter(c) && !isAttached(c, counts);
    const isWhole = (chunk, isLast) => {
      if (!knows(chunk)) return isMark(chunk) && new Set(chunk).size === 1;
      const core = stripEnd(chunk, CLAUSE_MARKS);
      if (core === chunk || core === "" || (chunk.at(-1) === "." && !isLast)) return true;
      return rank(core) >= rank(chunk);
    };
    const run = (chunk, first, last) => {
      const mark = chunk[last - 1], part = chunk.slice(first, last);
      const equal = part.length - stripEnd(part, mark).length;
      return equal > 1 && knows(mark.repeat(equal)) ? equal : 1;
    };
    const piece = (mark, start, atEnd) => {
      const found = markToken(mark, atEnd);
      return found === null ? [] : [[found, start, start + mark.length]];
    };
    const isClitic = (word, cut) =>
      APOSTROPHES.includes(word[cut]) || APOSTROPHES.includes(word[cut - 1]) ||
      (word[cut].toLowerCase() === "n" && cut + 1 < word.length && APOSTROPHES.includes(word[cut + 1]));
    const clitics = (word) => {
      const cuts = [];
      [...word].forEach((c, at) => { if (APOSTROPHES.includes(c)) cuts.push(at - 1, at, at + 1); });
      return cuts.filter((cut) => cut > 0 && cut < word.length && isClitic(word, cut));
    };
    const innerMark = (mark, word, at) => {
      if (ranks.has(`@${mark}@`)) {
        const digits = /\p{Nd}/u.test(word[at - 1]) && /\p{Nd}/u.test(word[at + 1]);
        return mark === "-" || digits ? `@${mark}@` : null;
      }
      if (".,:".includes(mark) || APOSTROPHES.includes(mark) || !knows(mark)) return null;
      return 1 / (rank(mark) + 3) > (inside[mark] || 0) ? mark : null;
    };
    const wordOf = (chunk, first, last) => {
      const word = chunk.slice(first, last);
      if (!knows(word)) {
        for (const cut of clitics(word)) {
          const left = word.slice(0, cut), right = word.slice(cut);
          if (knows(right) || (knows(left) && APOSTROPHES.includes(left.at(-1))))
            return [...wordOf(chunk, first, first + cut), ...wordOf(chunk, first + cut, last)];
        }
        for (const match of word.matchAll(CUTS)) {
          const found = innerMark(match[0], word, match.index);
          if (!found) continue;
          const start = first + match.index, end = start + match[0].length;
          return [...wordOf(chunk, first, start), [found, start, end], ...wordOf(chunk, end, last)];
        }
      }
      return [[token(word), first, last]];
    };
    const takeApart = (chunk, isLast) => {
      if (isWhole(chunk, isLast)) return [[token(chunk), 0, chunk.length]];
      let first = 0, last = chunk.length, after = [];
      const before = [];
      while (first < last - 1 && goesOff(chunk[first], beginning)) {
        if (first && isWhole(chunk.slice(first, last), false)) break;
        before.push(...piece(chunk[first], first, 0));
        first++;
      }
      while (last - 1 > first && goesOff(chunk[last - 1], ending)) {
        const length = run(chunk, first, last);
        if (last < chunk.length && isWhole(chunk.slice(first, last), false)) break;
        after = [...piece(chunk.slice(last - length, last), last - length, 1), ...after];
        last -= length;
      }
      return [...before, ...wordOf(chunk, first, last), ...after];
    };
    const isTokenized = (chunks) => {
      let alone = false;
      for (const chunk of chunks) {
        if (SENTENCE_MARKS.includes(chunk)) alone = true;
        else if ((!isLetter([...chunk].at(-1)) || !isLetter([...chunk][0])) && !knows(chunk)) return false;
      }
      return alone;
    };
    // The tokens of a line, each with its place: [token, start, end].
    return (line) => {
      const chunks = [...line.matchAll(CHUNK)];
      if (isTokenized(chunks.map((c) => c[0])))
        return chunks.map((c) => [cased(c[0]), c.index, c.index + c[0].length]);
      return chunks.flatMap((c, n) =>
        takeApart(c[0], n === chunks.length - 1).map(([t, from, to]) => [t, c.index + from, c.index + to]));
    };
  };
})();
