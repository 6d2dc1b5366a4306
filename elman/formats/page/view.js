// The page: draws suggestions and surprisal while typing; a tap on a word shows what was expected.
const elman = (() => {
  const $ = (id) => document.getElementById(id);
  const session = Elman.load(JSON.parse($("model").textContent), $("weights").textContent);
  const box = $("text");
  const PAUSE = 150; // milliseconds
  let waiting = 0;
  let chosen = null; // the start of the word whose details are shown

  const element = (name, className, content) => {
    const made = document.createElement(name);
    made.className = className;
    if (name === "button") made.type = "button";
    if (content !== undefined) made.textContent = content;
    return made;
  };
  const numberElement = (className, content) => {
    const made = element("span", className, content);
    made.dir = "ltr";
    return made;
  };
  const wordElement = (word) => {
    const made = element("bdi", "word", word);
    made.dir = "auto";
    return made;
  };
  const colour = (bits) => `hsl(${Math.max(0, 130 - 9 * bits)} 70% var(--tint))`;
  const percent = (p) => (p < 0.001 ? "<\u00a00.1\u00a0%" : `${(100 * p).toFixed(p < 0.1 ? 1 : 0)}\u00a0%`);
  const odds = (bits) => (bits < 10 ? percent(2 ** -bits) : `1 in ${Math.round(2 ** Math.min(bits, 1000)).toLocaleString("en", { notation: "compact" })}`);

  const counted = (count, name) => `${count} ${name}${count === 1 ? "" : "s"}`;

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
      chip.append(wordElement(token), numberElement("share", percent(probability)));
      chip.addEventListener("click", () => insert(token, complete));
      return chip;
    }));
    $("suggestions").inert = false;
  };

  // The expectation before a word: its line is read from the start, as for its surprisal.
  const drawDetails = (word) => {
    const before = box.value.slice(0, word.start), line = before.slice(before.lastIndexOf("\n") + 1);
    const expected = session.suggest(line, { top: 5 });
    const known = word.unknown ? ". Not in the vocabulary." : "";
    const parts = word.tokens > 1 ? `, in ${word.tokens} tokens` : "";
    const head = element("p", "fact");
    head.append(wordElement(word.word === "\n" ? "line end" : word.word), `: ${word.surprisal.toFixed(2)} bits, probability ${odds(word.surprisal)}${parts}${known}`);
    const list = element("p", "fact", "Most probable here: ");
    expected.forEach(({ token, probability }, n) => list.append(n ? ", " : "", wordElement(token), `\u00a0${percent(probability)}`));
    $("details").replaceChildren(head, list);
  };
  const choose = (word) => {
    chosen = chosen === word?.start ? null : (word?.start ?? null);
    for (const one of $("tokens").querySelectorAll("button")) one.setAttribute("aria-pressed", String(Number(one.dataset.start) === chosen && chosen !== null));
    if (chosen === null) $("details").replaceChildren();
    else drawDetails(word);
  };
  const drawSurprisal = () => {
    const { words, bits } = session.surprisal(box.value), shown = [];
    for (const word of words) {
      const one = element("button", "token");
      one.style.background = colour(word.surprisal);
      one.dataset.start = word.start;
      one.setAttribute("aria-pressed", "false");
      one.append(wordElement(word.word === "\n" ? "↵" : word.word), numberElement("bits", word.surprisal.toFixed(1)));
      if (word.unknown) one.classList.add("unknown");
      one.addEventListener("click", () => choose(word));
      shown.push(one);
      if (word.word === "\n") shown.push(element("span", "break"));
    }
    $("tokens").replaceChildren(...shown);
    choose(null);
    const ends = words.filter(({ word }) => word === "\n").length;
    const counts = counted(words.length - ends, "word") + (ends ? ` and ${counted(ends, "line end")}` : "");
    const mean = (bits / words.length).toFixed(2);
    $("total").textContent = words.length ? `${counts} · ${bits.toFixed(1)} bits · ${mean} on average` : "";
    $("results").hidden = !words.length;
  };
  // Spelling words takes a while: it waits for a pause, so that typing stays fluent.
  const draw = () => {
    clearTimeout(waiting);
    $("suggestions").inert = session.spells;
    if (session.spells) waiting = setTimeout(drawSuggestions, PAUSE);
    else drawSuggestions();
    drawSurprisal();
    $("tokens").dir = $("suggestions").dir = getComputedStyle(box).direction; // that of the text
  };

  document.title = session.title;
  $("title").textContent = session.title;
  $("about").textContent = session.about[0].toUpperCase() + session.about.slice(1);
  box.addEventListener("input", draw);
  draw();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  return session;
})();
