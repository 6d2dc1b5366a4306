// An n-gram model in back-off form: for each order the words after a context, in sorted slices.
const NGram = (() => {
  const model = (data, constants) => {
    const tables = data.orders.map((numbers) => numbers.map((n) => (n === null ? null : constants[n].data)));
    const [WORDS, STARTS, PROBS, BACKOFFS] = [0, 1, 2, 3], order = tables.length;
    // The number of (context, word) one order up, or -1.
    const find = (level, context, word) => {
      const starts = tables[level - 1][STARTS], words = tables[level][WORDS];
      let low = starts[context], high = starts[context + 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (words[middle] < word) low = middle + 1; else high = middle;
      }
      return low < starts[context + 1] && words[low] === word ? low : -1;
    };
    const number = (context) => {
      let found = context[0];
      for (let i = 1; i < context.length && found >= 0; i++) found = find(i, found, context[i]);
      return found;
    };
    return {
      start: () => [data.eosId],
      read: (id, state) => [...state, id].slice(-Math.max(order - 1, 1)),
      predict: (state) => {
        const out = Float64Array.from(tables[0][PROBS]);
        for (let length = 1; length <= Math.min(state.length, order - 1); length++) {
          const context = number(state.slice(state.length - length));
          if (context < 0) continue;
          const [, starts, , backoffs] = tables[length - 1], [words, , probs] = tables[length];
          const weight = backoffs[context];
          if (weight) for (let i = 0; i < out.length; i++) out[i] += weight;
          for (let i = starts[context]; i < starts[context + 1]; i++) out[words[i]] = probs[i];
        }
        return out;
      },
    };
  };
  return { model };
})();
