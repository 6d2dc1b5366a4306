// The page: reads the model from the document, then draws suggestions and surprisal while typing.
const elman = (() => {
  const $ = (id) => document.getElementById(id);
  const began = performance.now();
  const data = JSON.parse($("model").textContent);

  const decode = (base64) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
    const packed = atob(base64), out = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; i++) out[i] = packed.charCodeAt(i);
    return out;
  };
  const bytes = decode($("weights").textContent);
  const kinds = { int8: Int8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array };
  const take = (kind, place, count) => new kinds[kind](bytes.buffer, place, count);
  const constants = data.constants.map(({ kind, shape, place, scales }) => ({
    shape, isMatrix: shape.length === 2,
    data: take(kind, place, shape.reduce((a, b) => a * b, 1)),
    ...(scales === null ? {} : { scales: take("float32", scales, shape[0]) }),
  }));
  const states = (data.model.begin || []).map((n) => ({ shape: constants[n].shape, data: constants[n].data }));
  const family = data.model.family === "ngram" ? NGram : Program;
  const model = family.model({ ...data.model, begin: states }, constants);
  const session = Session(model, Tokenizers.make(data.tokenizer));

  const box = $("text"), colour = (bits) => `hsl(${Math.max(0, 130 - 9 * bits)} 70% var(--tint))`;
  const element = (name, className, content) => {
    const made = document.createElement(name);
    made.className = className;
    if (content !== undefined) made.textContent = content;
    return made;
  };
  const percent = (p) => (p < 0.001 ? "< 0.1 %" : `${(100 * p).toFixed(p < 0.1 ? 1 : 0)} %`);
  const insert = (word, complete) => {
    const text = box.value.replace(/ +$/, ""), begun = complete ? text.match(/\S*$/)[0] : "";
    const stem = text.slice(0, text.length - begun.length);
    const joined = !complete && /^[.,;:!?%)\]}’']/.test(word) && stem ? stem : stem && !/\s$/.test(stem) ? `${stem} ` : stem;
    box.value = `${joined}${word} `;
    box.focus();
    draw();
  };
  const drawSuggestions = () => {
    const complete = /\S$/.test(box.value), found = session.suggest(box.value, { top: 5, complete });
    $("suggestions").replaceChildren(...found.map(({ token, probability }) => {
      const chip = element("button", "chip");
      chip.type = "button";
      chip.append(element("span", "word", token), element("span", "share", percent(probability)));
      chip.addEventListener("click", () => insert(token, complete));
      return chip;
    }));
  };
  const drawSurprisal = () => {
    const { words } = session.surprisal(box.value), shown = [];
    let bits = 0;
    for (const word of words) {
      bits += word.surprisal;
      const one = element("span", "token");
      one.style.background = colour(word.surprisal);
      one.title = word.unknown ? "not in the vocabulary" : `${word.surprisal.toFixed(2)} bits`;
      one.append(element("span", "word", word.word === "\n" ? "↵" : word.word), element("span", "bits", word.surprisal.toFixed(1)));
      if (word.unknown) one.classList.add("unknown");
      shown.push(one);
      if (word.word === "\n") shown.push(element("span", "break"));
    }
    $("tokens").replaceChildren(...shown);
    const mean = words.length ? bits / words.length : 0;
    $("total").textContent = words.length
      ? `${words.length} words · ${bits.toFixed(1)} bits · ${mean.toFixed(2)} bits per word` : "";
  };
  const draw = () => { drawSuggestions(); drawSurprisal(); };

  document.title = data.title;
  $("title").textContent = data.title;
  $("about").textContent = data.about;
  box.addEventListener("input", draw);
  draw();
  document.documentElement.dataset.ready = String(Math.round(performance.now() - began));
  return session;
})();
