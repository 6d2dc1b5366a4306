/* Builds parts of the page. Text is always inserted as text, never as markup.

  make("button", { class: "main", type: "button", onclick: go }, "Go", other)
      attributes; names that begin with "on" are event listeners; null and false are left out
  field(label, control, help)      a control with its label and a line of help
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

/* A text area that grows with its content. */
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

/* Small buttons that fill a text area with an example. */
export function examples(area, texts) {
  const buttons = Object.entries(texts).map(([name, text]) => make("button", {
    type: "button", class: "small", onclick: () => { put(area, typeof text === "function" ? text() : text); area.focus(); },
  }, name));
  return make("p", { class: "examples" }, make("span", { class: "quiet" }, "Try"), buttons);
}

export const note = (text) => make("p", { class: "note" }, text);

/* An error message that screen readers announce. */
export function trouble(error) {
  return make("p", { class: "trouble", role: "alert" }, error.message || String(error));
}
