"""An R script that repeats the regressions of `elman reading-times`.

Takes the names of the controls and predictors, gives the text of a script that reads the table
`words.tsv` beside it. It prints the same coefficients, held-out ΔLL and tests of linearity; random
intercepts need the package lme4. The held-out ΔLL with random intercepts is left to elman.
"""

from collections.abc import Mapping, Sequence

_HEAD = """\
# Repeats the regressions of `elman reading-times`. Run it in its folder: Rscript repeat.R
words <- read.delim("words.tsv", quote = "", comment.char = "")
controls <- c({controls})
models <- list({models}
)
knots <- list({knots}
)
subjects <- {subjects}

with_predictors <- function(terms) {{
  written <- paste(c(controls, terms), collapse = " + ")
  as.formula(paste("time ~", if (subjects) paste(written, "+ (1 | subject)") else written))
}}

estimate <- function(terms, data = words) {{
  if (subjects) lme4::lmer(with_predictors(terms), data = data, REML = FALSE)
  else lm(with_predictors(terms), data = data)
}}

# The log density of each time under a regression that was fitted to the other folds.
held_out <- function(terms) {{
  result <- numeric(nrow(words))
  for (fold in unique(words$fold)) {{
    inside <- words$fold == fold
    fitted <- lm(with_predictors(terms), data = words[!inside, ])
    sigma <- sqrt(mean(residuals(fitted)^2))
    result[inside] <- dnorm(words$time[inside], predict(fitted, words[inside, ]), sigma, log = TRUE)
  }}
  result
}}

# Every line as a natural cubic spline.
as_splines <- function(terms, places) {{
  inner <- paste(places[2:(length(places) - 1)], collapse = ", ")
  outer <- paste(places[c(1, length(places))], collapse = ", ")
  sprintf("splines::ns(%s, knots = c(%s), Boundary.knots = c(%s))", terms, inner, outer)
}}

baseline <- estimate(character(0))
if (!subjects) baseline_held_out <- held_out(character(0))
for (name in names(models)) {{
  terms <- models[[name]]
  fitted <- estimate(terms)
  cat("\\n==", name, "==\\n")
  print(coef(summary(fitted))[terms, , drop = FALSE])
  gained <- as.numeric(logLik(fitted) - logLik(baseline)) / nrow(words)
  cat(sprintf("fitted gain: %.5f nats per row\\n", gained))
  if (!subjects) {{
    cat(sprintf("held-out gain: %.5f nats per row\\n", mean(held_out(terms) - baseline_held_out)))
  }}
  if (!is.null(knots[[name]])) {{
    bent <- estimate(as_splines(terms, knots[[name]]))
    gain <- as.numeric(logLik(bent) - logLik(fitted))
    more <- attr(logLik(bent), "df") - attr(logLik(fitted), "df")
    p <- pchisq(2 * gain, more, lower.tail = FALSE)
    cat(sprintf("splines: %.3f nats, %d more parameters, p = %.3g\\n", gain, more, p))
  }}
}}
"""


def write_r_script(
    controls: Sequence[str],
    models: Mapping[str, Sequence[str]],
    knots: Mapping[str, Sequence[float]],
    *,
    subjects: bool,
) -> str:
    """The script; `models` has the columns of each regression by its name, `knots` its splines."""
    listed = ",".join(
        f"\n  {_quoted([name])} = c({_quoted(terms)})" for name, terms in models.items()
    )
    return _HEAD.format(
        controls=_quoted(controls),
        models=listed,
        knots=",".join(
            f"\n  {_quoted([n])} = c({', '.join(map(repr, k))})" for n, k in knots.items()
        ),
        subjects="TRUE" if subjects else "FALSE",
    )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
