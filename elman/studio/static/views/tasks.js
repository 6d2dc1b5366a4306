/* Try: a form for every question of every served model that has no view of its own. */

import { make } from "../elements.js";
import { card } from "../models.js";
import { ANSWERS, readable } from "./answers.js";
import { questionForm, titled } from "./form.js";

const GARDEN = "The old man the boats .";
const PRAISE = "a warm , funny and quietly moving film";
/* What a form begins with, and which boxes are on; forms of other questions begin empty. */
const FORMS = {
  tag: { start: { text: GARDEN }, tries: { "a garden path": GARDEN, "who and where": "Maria flew from Lisbon to Oslo on Friday to meet her sister ." } },
  classify: { start: { texts: PRAISE }, checked: ["explain"],
    tries: { "praise": PRAISE, "blame": "a tedious mess without a single joke that lands", "hard": "not exactly bad , but hardly worth the wait" } },
  translate: { checked: ["attention"] },
};

export default { id: "try", title: "Try", choose: false, create };

function create({ models, questions, view }) {
  const cards = models.map((model) => {
    const asked = questions.filter(({ id }) => view.task.includes(id) && model.tasks.includes(id));
    const forms = asked.map((question) => [question, questionForm(model, question, { ...FORMS[question.id], show: ANSWERS[question.id] ?? readable })]);
    if (forms.length === 1) return card(model, forms[0][1]);
    return forms.length ? card(model, forms.map(([{ id, about }, form], place) => make("details", { class: "question", open: place === 0 },
      make("summary", {}, make("b", {}, titled(id)), ` ${about}`), form))) : null;
  });
  return { element: make("div", { class: "cards wide" }, cards), show: () => {} };
}
