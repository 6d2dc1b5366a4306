/* Try: a form for every question of a served model that has no view of its own. A form starts with an
example from the validation data of its model; runs of 0.1.0 have none. */

import { make } from "../elements.js";
import { card } from "../models.js";
import { ANSWERS, readable } from "./answers.js";
import { questionForm, titled } from "./form.js";

/* Checkboxes that are on at the start. */
const CHECKED = { classify: ["explain"], translate: ["attention"] };

export default { id: "try", title: "Try", choose: false, create };

function create({ models, questions, view }) {
  const cards = models.map((model) => {
    const asked = questions.filter(({ id }) => view.task.includes(id) && model.tasks.includes(id));
    const forms = asked.map((question) => [question, questionForm(model, question, { samples: model.samples ?? [], checked: CHECKED[question.id], show: ANSWERS[question.id] ?? readable })]);
    if (forms.length === 1) return card(model, forms[0][1]);
    return forms.length ? card(model, forms.map(([{ id, about }, form], place) => make("details", { class: "question", open: place === 0 },
      make("summary", {}, make("b", {}, titled(id)), ` ${about}`), form))) : null;
  });
  return { element: make("div", { class: "cards wide" }, cards), show: () => {} };
}
