/* The page: loads the models, shows one view at a time (chosen by the hash of the address), handles keys.

A view is a file in views/: { id, title, task, covers, create }. `task` is the route (or routes) that
its models must support, or null. `covers` names further questions that the view handles.
create(studio) returns { element, show(models), hide() }. It is called once, when the view is first
opened, so typed text is kept. The view Try handles all questions that no other view covers.
*/

import * as api from "./api.js";
import { key, make, trouble } from "./elements.js";
import { can, createChooser } from "./models.js";
import generate from "./views/generate.js";
import inside from "./views/inside.js";
import ladder from "./views/ladder.js";
import runs from "./views/runs.js";
import tasks from "./views/tasks.js";
import write from "./views/write.js";

const VIEWS = [write, generate, inside, tasks, runs, ladder];
const SHORTCUTS = [
  [["1", "…", "6"], "switch views (when you are not typing)"],
  [["/"], "go to the text"],
  [["Tab"], "in Write: take the first suggestion"],
  [["Alt", "1…5"], "in Write: take a suggestion by its number"],
  [["Esc"], "in Write: hide suggestions, so that Tab moves the focus; in Generate: stop"],
  [["Ctrl", "Enter"], "start: generate, look inside, measure, ask"],
  [["←", "→", "↑", "↓"], "in a picture: read its numbers"],
  [["?"], "show this list"],
];

const byId = (id) => document.getElementById(id);
const opened = new Map();
let current = null;

async function start() {
  fillShortcuts();
  const place = byId("view");
  try {
    const [models, transforms, questions] = await Promise.all([api.models(), api.transforms(), api.questions()]);
    const covered = VIEWS.flatMap((view) => [view.task ?? [], view.covers ?? []].flat());
    const others = questions.map(({ id }) => id).filter((id) => !covered.includes(id));
    const views = VIEWS.map((view) => (view === tasks ? { ...view, task: others } : view))
      .filter((view) => !view.task || models.some((model) => can(model, view.task)));
    const studio = { models, transforms, questions, go: (id) => { location.hash = id; } };
    studio.chooser = createChooser(models, () => show(studio, views));
    byId("models").replaceChildren(studio.chooser.element);
    byId("tabs").replaceChildren(...views.map((view) => make("a", { href: `#${view.id}`, "data-view": view.id }, view.title)));
    window.addEventListener("hashchange", () => show(studio, views));
    document.addEventListener("keydown", (event) => onKey(event, views));
    show(studio, views);
  } catch (error) {
    place.replaceChildren(trouble(error));
    throw error;
  }
}

function show(studio, views) {
  const wanted = location.hash.slice(1);
  if (wanted === "main") return; // the link past the tabs
  const view = views.find((one) => one.id === wanted) ?? views[0];
  if (!opened.has(view.id)) opened.set(view.id, view.create({ ...studio, view }));
  const shown = opened.get(view.id);
  if (current !== view.id) {
    opened.get(current)?.hide?.();
    current = view.id;
    byId("view").replaceChildren(shown.element);
    document.title = `${view.title} · elman studio`;
    byId("tabs").querySelectorAll("a").forEach((tab) => {
      if (tab.dataset.view === view.id) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    });
  }
  const models = studio.chooser.offer(view.choose === false ? null : view.task);
  shown.show(models);
}

function onKey(event, views) {
  const writing = event.target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || writing) return;
  const view = views[Number(event.key) - 1];
  if (view) location.hash = view.id;
  else if (event.key === "?") byId("shortcuts").showModal();
  else if (event.key === "/") byId("view").querySelector("textarea")?.focus();
  else return;
  event.preventDefault();
}

function fillShortcuts() {
  const dialog = byId("shortcuts");
  const rows = SHORTCUTS.flatMap(([keys, what]) => [make("dt", {}, keys.map(key)), make("dd", {}, what)]);
  const close = make("button", { type: "button", class: "main", onclick: () => dialog.close() }, "Close");
  dialog.append(make("h2", { id: "shortcuts-title" }, "Keyboard"), make("dl", {}, rows), close);
  byId("help").addEventListener("click", () => dialog.showModal());
}

start();
