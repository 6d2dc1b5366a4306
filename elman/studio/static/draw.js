/* Drawings of numbers as SVG and text: the drawing module of the studio and of all reports.

Every function takes one object of plain data and returns one <figure> to insert into the page:
    place.replaceChildren(curves({ title: "Loss", series: [{ name: "train", y: [3, 2, 1] }] }));
Colours and fonts are the CSS variables of draw.css (light and dark). A figure adapts to the width of
its container. It works with mouse, touch and arrow keys: the value under the cursor is shown in a
line below the drawing, and all numbers are in a table that can be opened.

  curves({ title, series: [{ name, y: [number|null], x: [number]? }], xLabel, yLabel,
           xNames: [string]?, logY: false, zero: false, top: number?, ends: [from, to]?, marks: [{ x, name }],
           levels: [{ y, name }], height: 260, format, onSelect: (index) => … })
      Lines over x (default 0, 1, 2 …); null leaves a gap. xNames are names for the values of x, in the
      readout and on the axis (words of a text). zero: the y axis starts at 0; top: it reaches at least
      this value; ends: the range of the x axis. marks: vertical lines; levels: horizontal lines.

  panels({ title, panels: [arguments of curves] })
      Several curves side by side under one title.

  heatMap({ title, rows: [string], columns: [string], values: [[number|null]], rowLabel,
            columnLabel, scale: "linear"|"log"|"diverging", low, high, cell: 18, format, between,
            onSelect: (row, column) => … })
      A matrix with names on both axes: gradient flow, gates, attention. null is left empty. Every row
      and column has its name; a wide matrix scrolls.
      diverging: different colours for negative and positive values. between: the word between the two
      names in the readout.

  bars({ title, names: [string], series: [{ name, values: [number] }], max, format,
         onSelect: (index) => … })
      Horizontal bars, one group per name; two series are drawn side by side (before and after).

  colouredText({ title, words: [{ text, value: number|null, note: string?, unknown: bool? }], low, high, label,
                 diverging: false, format, onSelect: (index) => … })
      A text with every word coloured by its value. `note` is added to the readout. Unknown words have a
      dotted underline.

  dataTable(header, rows)
      A <details> element with the numbers; the functions above use it.

  short(number)
      A readable number: "0.0123", "1,234", "3.1e-7". The default for every `format`.
*/

const SVG = "http://www.w3.org/2000/svg";
const NAME = 12; // pixels that a row or column needs for a readable name

export function short(number) {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return number.toExponential(1).replace(".0e", "e");
  if (size >= 1000) return Math.round(number).toLocaleString("en");
  return String(Number(number.toPrecision(3)));
}

/* Short names of ticks, with more digits if two names would be equal. */
function tickNames(ticks) {
  for (const digits of [3, 4, 5, 6]) {
    const names = ticks.map((tick) => (digits === 3 ? short(tick) : String(Number(tick.toPrecision(digits)))));
    if (new Set(names).size === ticks.length) return names;
  }
  return ticks.map(String);
}

export function curves({
  title, series, xLabel = "", yLabel = "", xNames = null, logY = false, zero = false, top = null, ends = null,
  marks = [], levels = [], height = 260, format = short, onSelect = null,
}) {
  const lines = series.map((one) => ({ ...one, x: one.x ?? one.y.map((_, place) => place) }));
  const places = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const usable = (y) => y !== null && Number.isFinite(y) && (!logY || y > 0);
  const heights = lines.flatMap((line) => line.y.filter(usable));
  const reached = [...heights, ...levels.map((level) => level.y), ...(top === null ? [] : [top])];
  const y = axis(reached, logY, zero);
  const alone = places.length === 1 && !ends; // a single point is drawn in the middle
  const xs = ends ?? (alone ? [places[0] - 1, places[0] + 1] : [places[0] ?? 0, places[places.length - 1] ?? 1]);
  const nameOf = (place) => xNames?.[place] ?? short(place);
  const at = (line, place) => line.y[line.x.indexOf(place)] ?? null;
  const render = (width) => {
    const room = (width - 84) / Math.max(1, places.length - 1);
    const widest = xNames ? Math.max(...places.map((place) => Math.min(nameOf(place).length, 14))) : 0;
    const slanted = 7 * widest > room; // if names would overlap, rotate all of them
    const under = slanted ? 24 + 5 * widest : 40;
    const tall = height + under - 40;
    const heightNames = tickNames(y.ticks);
    const left = Math.max(58, 32 + 7 * Math.max(...heightNames.map((name) => name.length)));
    const box = { left, right: width - 26, top: 10, bottom: tall - under };
    const toX = (v) => box.left + ((v - xs[0]) / (xs[1] - xs[0] || 1)) * (box.right - box.left);
    const toY = (v) => box.bottom - y.share(v) * (box.bottom - box.top);
    const svg = canvas(width, tall, `${title}. ${lines.map((line) => line.name).join(", ")}`);
    y.ticks.forEach((tick, place) => {
      svg.append(shape("path", { class: "grid", d: `M${box.left} ${toY(tick)}H${box.right}` }));
      svg.append(label(heightNames[place], box.left - 6, toY(tick) + 4, "end"));
    });
    const steps = xNames ? thinned(places, (box.right - box.left) / NAME) : alone ? places : axis(ends ?? places).ticks;
    for (const tick of steps.filter((step) => step >= xs[0] && step <= xs[1])) {
      const text = cut(nameOf(tick));
      const inside = Math.min(toX(tick), width - 4 - 3.7 * text.length); // keep a long last name inside the drawing
      const name = label(text, slanted ? 0 : inside, slanted ? 0 : box.bottom + 16, slanted ? "end" : "middle");
      if (slanted) name.setAttribute("transform", `translate(${toX(tick) + 4} ${box.bottom + 14}) rotate(-45)`);
      svg.append(name);
    }
    svg.append(label(xLabel, (box.left + box.right) / 2, tall - 6, "middle", "faint"));
    const side = label(yLabel, 0, 0, "middle", "faint");
    side.setAttribute("transform", `translate(11 ${(box.top + box.bottom) / 2}) rotate(-90)`);
    svg.append(side);
    for (const mark of marks) {
      svg.append(shape("path", { class: "mark", d: `M${toX(mark.x)} ${box.top}V${box.bottom}` }));
      svg.append(label(mark.name, toX(mark.x) + 3, box.top + 10, "start", "faint"));
    }
    for (const level of levels) {
      svg.append(shape("path", { class: "mark", d: `M${box.left} ${toY(level.y)}H${box.right}` }));
      svg.append(label(level.name, box.right, toY(level.y) - 4, "end", "faint"));
    }
    lines.forEach((line, number) => {
      let pen = "M";
      let d = "";
      line.y.forEach((value, place) => {
        if (!usable(value)) { pen = "M"; return; }
        d += `${pen}${toX(line.x[place]).toFixed(1)} ${toY(value).toFixed(1)}`;
        pen = "L";
      });
      svg.append(colour(shape("path", { class: "line", d }), "stroke", seriesColour(number)));
      line.y.forEach((value, place) => { // a point without neighbours would not be visible as a line
        if (!usable(value) || usable(line.y[place - 1] ?? null) || usable(line.y[place + 1] ?? null)) return;
        svg.append(colour(shape("circle", { cx: toX(line.x[place]), cy: toY(value), r: 4 }), "fill", seriesColour(number)));
      });
    });
    const cursor = shape("path", { class: "cursor", d: "" });
    svg.append(cursor);
    const show = (index) => {
      cursor.setAttribute("d", `M${toX(places[index])} ${box.top}V${box.bottom}`);
      const values = lines.map((line) => `${line.name} ${format(at(line, places[index]))}`);
      return `${xLabel} ${nameOf(places[index])}: ${values.join(" · ")}`;
    };
    const find = (x) => nearest(places, xs[0] + ((x - box.left) / (box.right - box.left)) * (xs[1] - xs[0]));
    return { svg, show: (row, column) => show(column), find: (x) => [0, find(x)] };
  };
  const table = () => dataTable([xLabel || "x", ...lines.map((line) => line.name)],
    places.map((place) => [nameOf(place), ...lines.map((line) => format(at(line, place)))]));
  const keys = lines.map((line, number) => [line.name, seriesColour(number)]);
  const chosen = onSelect && ((row, column) => onSelect(column));
  return figure({ title, render, size: [1, places.length], keys, table, onSelect: chosen });
}

export function panels({ title, panels: given }) {
  const outer = element("section", { class: "panels" });
  if (title) outer.append(element("h3", {}, title));
  outer.append(...given.map((panel) => curves(panel)));
  return outer;
}

export function heatMap({
  title, rows, columns, values, rowLabel = "", columnLabel = "", scale = "linear", low = null,
  high = null, cell = 18, format = short, between = "×", onSelect = null,
}) {
  const all = values.flat().filter((value) => value !== null && Number.isFinite(value));
  const positive = scale === "log" ? all.filter((value) => value > 0) : all;
  const reach = Math.max(...all.map(Math.abs), 1e-12);
  const bottom = low ?? (scale === "diverging" ? -reach : Math.min(...positive));
  const top = high ?? (scale === "diverging" ? reach : Math.max(...positive));
  const change = scale === "log" ? (value) => Math.log(Math.max(value, bottom)) : (value) => value;
  const share = (v) => (change(v) - change(bottom)) / (change(top) - change(bottom) || 1);
  const paint = (v) => (v === null || !Number.isFinite(v) ? "var(--heat-none)"
    : heat(share(v), scale === "diverging"));
  const left = 26 + 7 * Math.max(3, ...rows.map((name) => Math.min(name.length, 14)));
  const over = 26 + 6 * Math.max(3, ...columns.map((name) => Math.min(name.length, 14)));
  const render = (width) => {
    // Wide enough for every name; in a narrow container the drawing scrolls.
    const step = Math.max(Math.min((width - left - 36) / Math.max(columns.length, 1), 2 * cell), NAME);
    const tall = Math.max(Math.min(cell, step), NAME);
    const height = over + tall * rows.length + 4;
    const full = Math.max(width, Math.ceil(left + step * columns.length + 36));
    const svg = canvas(full, height, `${title}. ${rows.length} × ${columns.length}, `
      + `${format(bottom)} to ${format(top)}`);
    columns.forEach((column, place) => {
      const name = label(cut(column), 0, 0, "start");
      const x = left + (place + 0.5) * step + 4;
      name.setAttribute("transform", `translate(${x} ${over - 5}) rotate(-60)`);
      svg.append(name);
    });
    rows.forEach((row, place) => {
      svg.append(label(cut(row), left - 5, over + (place + 0.5) * tall + 4, "end"));
    });
    svg.append(label(columnLabel, left, 11, "start", "faint"));
    const side = label(rowLabel, 0, 0, "end", "faint");
    side.setAttribute("transform", `translate(11 ${over}) rotate(-90)`);
    svg.append(side);
    values.forEach((line, row) => line.forEach((value, column) => {
      const place = { x: left + column * step, y: over + row * tall, width: step, height: tall };
      if (value !== null) svg.append(colour(shape("rect", place), "fill", paint(value)));
    }));
    const cursor = shape("rect", { class: "cursor", width: 0, height: 0 });
    svg.append(cursor);
    const show = (row, column) => {
      set(cursor, { x: left + column * step, y: over + row * tall, width: step, height: tall });
      return `${rows[row]} ${between} ${columns[column]}: ${format(values[row][column])}`;
    };
    const find = (x, y) => [clamp((y - over) / tall, rows.length), clamp((x - left) / step, columns.length)];
    return { svg, show, find };
  };
  const table = () => dataTable([rowLabel, ...columns],
    values.map((line, row) => [rows[row], ...line.map(format)]));
  const paints = [0, 0.25, 0.5, 0.75, 1].map((part) => heat(part, scale === "diverging"));
  const ramp = { low: format(bottom), high: format(top), paints, middle: scale === "diverging" ? format(0) : scale === "log" ? "logarithmic" : "" };
  return figure({ title, render, size: [rows.length, columns.length], ramp, table, onSelect });
}

export function bars({ title, names, series, max = null, format = short, onSelect = null }) {
  const most = max ?? Math.max(...series.flatMap((one) => one.values), 1e-12);
  const left = 16 + 7 * Math.max(3, ...names.map((name) => Math.min(name.length, 14)));
  const thick = series.length > 1 ? 12 : 16;
  const group = thick * series.length + 6;
  const render = (width) => {
    const height = group * names.length + 6;
    const svg = canvas(width, height, `${title}. ${names.length} bars`);
    const long = (value) => Math.max(0, (value / most) * (width - left - 64));
    names.forEach((name, place) => {
      const top = 4 + place * group;
      svg.append(label(cut(name), left - 6, top + (group - 6) / 2 + 4, "end"));
      series.forEach((one, number) => {
        const value = one.values[place];
        const bar = shape("rect", { x: left, y: top + number * thick, width: long(value), height: thick - 1 });
        svg.append(colour(bar, "fill", seriesColour(number)));
        const under = series.length === 1 ? 12 : (number + 1) * thick - 2;
        svg.append(label(format(value), left + long(value) + 5, top + under, "start", series.length === 1 ? "faint" : "faint small"));
      });
    });
    const cursor = shape("rect", { class: "cursor", width: 0, height: 0 });
    svg.append(cursor);
    const show = (row) => {
      set(cursor, { x: 1, y: 2 + row * group, width: width - 2, height: group - 2 });
      return `${names[row]}: ${series.map((one) => `${one.name} ${format(one.values[row])}`).join(" · ")}`;
    };
    return { svg, show, find: (x, y) => [clamp((y - 2) / group, names.length), 0] };
  };
  const table = () => dataTable(["", ...series.map((one) => one.name)],
    names.map((name, place) => [name, ...series.map((one) => format(one.values[place]))]));
  const keys = series.length > 1 ? series.map((one, number) => [one.name, seriesColour(number)]) : [];
  return figure({ title, render, size: [names.length, 1], keys, table, onSelect });
}

export function colouredText({
  title, words, low = 0, high = null, label: what = "", diverging = false, format = short,
  onSelect = null,
}) {
  const values = words.map((word) => word.value).filter((value) => value !== null && Number.isFinite(value));
  const top = high ?? Math.max(...values.map(Math.abs), 1e-12);
  const outer = element("figure", { class: "drawing" });
  const text = element("div", { class: "words", role: "group", "aria-label": title });
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const say = (word) => { readout.textContent = `${word.text.trim() || "⏎"}: ${what} ${format(word.value)}${word.note ? ` · ${word.note}` : ""}`; };
  words.forEach((word, index) => {
    const span = element("span", { class: "word", tabindex: index === 0 ? 0 : -1 }, word.text);
    const part = Math.max(0, Math.min(1, (Math.abs(word.value ?? 0) - low) / (top - low || 1)));
    const name = diverging && word.value < 0 ? "--text-cool" : "--text-heat";
    if (word.unknown) span.classList.add("unknown");
    if (word.value !== null) colour(span, "background-color", `color-mix(in oklab, var(${name}) ${Math.round(part * 100)}%, transparent)`);
    span.addEventListener("pointerenter", () => say(word));
    span.addEventListener("focus", () => say(word));
    if (onSelect) {
      set(span, { role: "button", "aria-pressed": "false" });
      span.addEventListener("click", () => choose(index));
    }
    text.append(span);
  });
  const choose = (index) => {
    [...text.children].forEach((span, place) => span.setAttribute("aria-pressed", String(place === index)));
    onSelect?.(index);
  };
  text.addEventListener("keydown", (event) => {
    const here = [...text.children].indexOf(document.activeElement);
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (move && text.children[here + move]) {
      text.children[here].tabIndex = -1;
      text.children[here + move].tabIndex = 0;
      text.children[here + move].focus();
    } else if (onSelect && here >= 0 && (event.key === "Enter" || event.key === " ")) choose(here);
    else return;
    event.preventDefault();
  });
  const table = () => dataTable(["", what], words.map((word) => [word.text.trim(), format(word.value)]));
  if (title) outer.append(element("figcaption", {}, title));
  outer.append(text, readout, later(table));
  return outer;
}

export function dataTable(header, rows) {
  const line = (kind, cells) => {
    const row = element("tr");
    row.append(...cells.map((cell, place) => element(place === 0 ? "th" : kind, {}, String(cell))));
    return row;
  };
  const table = element("table");
  table.append(line("th", header), ...rows.map((row) => line("td", row)));
  const details = element("details");
  const room = element("div", { tabindex: 0 });
  room.append(table);
  details.append(element("summary", {}, "The numbers"), room);
  return details;
}

/* A figure: caption, legend, drawing, readout, table. Redrawn when its width changes. */
function figure({ title, render, size, keys = [], ramp = null, table, onSelect }) {
  const outer = element("figure", { class: "drawing" });
  const place = element("div", { class: "picture-place" });
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const at = [0, 0];
  let drawn = null;
  const show = (row, column) => {
    if (!size[0] || !size[1]) return;
    at[0] = row;
    at[1] = column;
    readout.textContent = drawn.show(row, column);
  };
  const redraw = (width) => {
    const active = document.activeElement === place.firstChild && place.firstChild !== null;
    drawn = render(width);
    drawn.svg.addEventListener("pointermove", (event) => show(...found(event)));
    drawn.svg.addEventListener("click", (event) => onSelect?.(...found(event)));
    drawn.svg.addEventListener("keydown", (event) => {
      const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      if (move) show(clamp(at[0] + move[0], size[0]), clamp(at[1] + move[1], size[1]));
      else if (onSelect && (event.key === "Enter" || event.key === " ")) onSelect(...at);
      else return;
      event.preventDefault();
    });
    place.replaceChildren(drawn.svg);
    if (active) drawn.svg.focus();
  };
  const found = (event) => {
    const box = drawn.svg.getBoundingClientRect();
    return drawn.find(event.clientX - box.left, event.clientY - box.top);
  };
  if (title) outer.append(element("figcaption", {}, title));
  if (keys.length) outer.append(legend(keys));
  if (ramp) outer.append(rampOf(ramp));
  outer.append(place, readout, later(table));
  redraw(640);
  let width = 640;
  const follow = () => {
    const now = Math.round(place.clientWidth);
    if (now > 0 && now !== width) { width = now; redraw(width); }
  };
  new ResizeObserver(() => requestAnimationFrame(follow)).observe(place);
  return outer;
}

/* The table of numbers is created when it is opened. */
function later(table) {
  const details = element("details");
  details.append(element("summary", {}, "The numbers"));
  details.addEventListener("toggle", () => details.append(table().lastChild), { once: true });
  return details;
}

function legend(keys) {
  const list = element("div", { class: "legend" });
  for (const [name, paint] of keys) {
    const one = element("span");
    one.append(colour(element("i"), "background", paint), name);
    list.append(one);
  }
  return list;
}

/* The colours of a heat map from the lowest to the highest value. */
function rampOf({ low, high, paints, middle }) {
  const outer = element("div", { class: "ramp" });
  const strip = colour(element("i"), "background", `linear-gradient(90deg, ${paints.join(", ")})`);
  outer.append(element("span", {}, low), strip, element("span", {}, high));
  if (middle) outer.append(element("span", { class: "faint" }, middle === "logarithmic" ? "logarithmic" : `middle ${middle}`));
  return outer;
}

function axis(values, logarithmic = false, zero = false) {
  let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
  if (logarithmic) {
    if (!values.length) [low, high] = [0.1, 1];
    if (high / low < 100) return closeLogarithms(low, high);
    const [from, to] = [Math.floor(Math.log10(low)), Math.max(Math.ceil(Math.log10(high)), Math.floor(Math.log10(low)) + 1)];
    const every = Math.ceil((to - from) / 6);
    const ticks = [];
    for (let power = from; power <= to; power += every) ticks.push(10 ** power);
    return { ticks, share: (value) => (Math.log10(value) - from) / (to - from) };
  }
  if (zero) low = Math.min(low, 0);
  if (low === high) [low, high] = low > 0 ? [0, 1.25 * low] : [low - 0.5, high + 0.5];
  return { ticks: evenTicks(low, high), share: (value) => (value - low) / (high - low) };
}

function evenTicks(low, high) {
  const rough = (high - low) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= rough);
  const ticks = [];
  for (let tick = Math.ceil(low / step); tick * step <= high + step / 1e6; tick += 1) ticks.push(Number((tick * step).toPrecision(12)));
  return ticks;
}

/* For less than two powers of ten: the axis covers exactly the values, with ticks at 1, 1.5, 2, 3 …, or evenly spaced in a narrow range. */
function closeLogarithms(low, high) {
  if (low === high) { low /= 1.5; high *= 1.5; }
  const all = [-1, 0, 1, 2].flatMap((more) => [1, 1.5, 2, 3, 5, 7].map((digit) => Number((digit * 10 ** (Math.floor(Math.log10(low)) + more)).toPrecision(3))));
  const inside = all.filter((tick) => tick >= low && tick <= high);
  const ticks = inside.length < 3 ? evenTicks(low, high) : inside.length > 6 ? inside.filter((tick) => /^[125]/.test(tick.toExponential()) && !/^1\.5/.test(tick.toExponential())) : inside;
  const from = Math.log(low);
  const reach = Math.log(high) - from;
  return { ticks, share: (value) => (Math.log(value) - from) / reach };
}

function heat(share, diverging) {
  const part = Math.max(0, Math.min(1, share));
  const mix = (to, from, much) => `color-mix(in oklab, var(${to}) ${Math.round(much * 100)}%, var(${from}))`;
  if (diverging) return part < 0.5 ? mix("--heat-minus", "--heat-zero", 1 - 2 * part) : mix("--heat-plus", "--heat-zero", 2 * part - 1);
  return part < 0.5 ? mix("--heat-middle", "--heat-low", 2 * part) : mix("--heat-high", "--heat-middle", 2 * part - 1);
}

function element(name, attributes = {}, text = null) {
  const made = set(document.createElement(name), attributes);
  if (text !== null) made.textContent = text;
  return made;
}

function shape(name, attributes) {
  return set(document.createElementNS(SVG, name), attributes);
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

/* Sets a style through the style object, which a strict content security policy allows. */
function colour(node, property, value) {
  node.style.setProperty(property, value);
  return node;
}

function canvas(width, height, description) {
  return shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", tabindex: 0, "aria-label": description });
}

function label(text, x, y, anchor, kind = "") {
  const made = shape("text", { x, y, "text-anchor": anchor, class: kind });
  made.textContent = text;
  return made;
}

const seriesColour = (number) => `var(--draw-${(number % 6) + 1})`;
const clamp = (value, size) => Math.max(0, Math.min(size - 1, Math.floor(value)));
const cut = (text, most = 14) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const thinned = (items, room) => items.filter((_, place) => place % Math.max(1, Math.ceil(items.length / Math.max(1, room))) === 0);
const nearest = (places, value) => places.reduce((best, place, index) => (Math.abs(place - value) < Math.abs(places[best] - value) ? index : best), 0);
