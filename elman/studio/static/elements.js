/* Making parts of the page: every text goes in as text, never as markup.

  make("button", { class: "main", type: "button", onclick: go }, "Go", other)
      attributes; names that begin with "on" are listeners, null and false leave one out
  field(label, control, help)      a control with its label and a line of help
  codes("Press ", key("Tab"))      pieces of a sentence, as an array
*/

let made = 0;

export function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export function field(label, control, help = null) {
  made += 1;
  control.id ||= `field-${made}`;
  const parts = [make("label", { for: control.id }, label), control];
  if (help) {
    control.setAttribute("aria-describedby", `${control.id}-help`);
    parts.push(make("p", { class: "help", id: `${control.id}-help` }, help));
  }
  return make("div", { class: "field" }, parts);
}

export const key = (name) => make("kbd", {}, name);

/* A text area that grows with what is in it. */
export function textArea(attributes) {
  const area = make("textarea", { spellcheck: "false", autocomplete: "off", ...attributes });
  const fit = () => {
    area.style.setProperty("height", "auto");
    area.style.setProperty("height", `${area.scrollHeight + 2}px`);
  };
  area.addEventListener("input", fit);
  new ResizeObserver(fit).observe(area);
  return area;
}

export function put(area, text) {
  area.value = text;
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

/* Small buttons that put an example into a text area. */
export function examples(area, texts) {
  const buttons = Object.entries(texts).map(([name, text]) => make("button", {
    type: "button", class: "small", onclick: () => { put(area, typeof text === "function" ? text() : text); area.focus(); },
  }, name));
  return make("p", { class: "examples" }, make("span", { class: "quiet" }, "Try"), buttons);
}

export const note = (text) => make("p", { class: "note" }, text);

/* What went wrong, said aloud; requests that were overtaken are no mistake. */
export function trouble(error) {
  return make("p", { class: "trouble", role: "alert" }, error.message || String(error));
}
