"""The tour as an HTML page: ladders, agreement by distance, learning curves, samples.

Takes a `Tour`, gives the page as a string, and the tables that the terminal also shows.
"""

from elman.experiments.tour import Tour
from elman.figures.files import new_figure
from elman.figures.page import Page

_COLOURS = ("#888888", "#1b9e77", "#d95f02", "#7570b3", "#e7298a", "#66a61e", "#333333", "#a6761d")
Lines = tuple[list[str], list[list[str]]]  # a header, and rows


def tour_page(seen: Tour) -> str:
    """The page that shows a tour."""
    page = Page("elman tour: from counting words to gated recurrence")
    page.paragraph(
        f"{sum(map(len, seen.ladders.values()))} models, trained on two built-in corpora in "
        f"{seen.seconds:.0f} seconds on this machine."
    )
    _show_grammar(page, seen)
    _show_agreement(page, seen)
    _show_curves(page, seen)
    _show_docs(page, seen)
    _show_sentences(page, seen)
    return page.html()


def _show_grammar(page: Page, seen: Tour) -> None:
    page.heading("An artificial language whose true probabilities are known")
    page.paragraph(
        "Subjects and verbs agree across relative clauses (boys who Mary chases walk .). No model "
        "can do better than the grammar itself."
    )
    results = seen.ladders["grammar"]
    rows = [
        [
            result.rung,
            f"{result.measurement.perplexity:.3f}",
            f"{100 * (result.measurement.perplexity / seen.limit - 1):.1f} %",
            f"{result.seconds:.1f}",
        ]
        for result in results
    ]
    rows.append(["the limit: the grammar itself", f"{seen.limit:.3f}", "0.0 %", "–"])
    page.table(["model", "perplexity", "above the limit", "seconds"], rows)
    figure, axes = new_figure(7.5, 3.6)
    names = [result.rung for result in results][::-1]
    values = [result.measurement.perplexity for result in results][::-1]
    axes.barh(names, values, color="#7570b3")
    axes.axvline(seen.limit, color="#d95f02", label=f"limit {seen.limit:.2f}")
    axes.set_xlabel("perplexity on the test text")
    axes.legend()
    page.figure(figure, "Perplexity of every rung; the line is the limit.")
    _show_samples(page, seen, "grammar")


def _show_agreement(page: Page, seen: Tour) -> None:
    page.heading("Why: agreement by distance")
    page.paragraph(
        "How often the model prefers verbs of the right number to those of the wrong one, by "
        "the number of words between the noun and its verb. A model that sees four words must "
        "guess beyond them; a recurrence can remember."
    )
    figure, axes = new_figure(7.5, 3.4)
    for colour, (rung, scores) in zip(_COLOURS, seen.agreement.items(), strict=False):
        distances = [score.distance for score in scores]
        accuracies = [score.accuracy for score in scores]
        axes.plot(distances, accuracies, marker="o", markersize=3, color=colour, label=rung)
    axes.axhline(0.5, color="#bbbbbb", linewidth=0.8)
    axes.set_xlabel("words between noun and verb (the last: that many or more)")
    axes.set_ylabel("right number")
    axes.set_ylim(0, 1.05)
    axes.legend(fontsize=8)
    page.figure(figure, "Number agreement by distance on the test sentences.")
    page.table(*agreement_table(seen))
    page.paragraph("In percent, by distance.")


def _show_curves(page: Page, seen: Tour) -> None:
    page.heading("Learning curves")
    for corpus, results in seen.ladders.items():
        trained = [result for result in results if result.history]
        if not trained:
            continue
        figure, axes = new_figure(7.5, 3.4)
        for colour, result in zip(_COLOURS[1:], trained, strict=False):
            valid = [record for record in result.history if "valid_perplexity" in record]
            axes.plot(
                [record["epoch"] for record in valid],
                [record["valid_perplexity"] for record in valid],
                marker="o",
                markersize=3,
                color=colour,
                label=result.rung,
            )
        if corpus == "grammar":
            axes.axhline(seen.limit, color="#d95f02", linewidth=0.8, label="limit")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
        axes.set_xlabel("epochs")
        axes.set_ylabel("validation perplexity")
        axes.legend(fontsize=8)
        page.figure(figure, f"Validation perplexity over the epochs, {corpus}.")


def _show_docs(page: Page, seen: Tour) -> None:
    page.heading("Real English: the language reference inside Python")
    page.paragraph(
        "About fifty thousand words: too few for a neural model alone to beat good counts with a "
        "cache. Perplexities per word, subword and character are not comparable; bits per byte "
        "are."
    )
    page.table(*docs_table(seen))
    _show_samples(page, seen, "python-docs")


def _show_samples(page: Page, seen: Tour, corpus: str) -> None:
    for rung, texts in seen.samples[corpus].items():
        page.paragraph(f"{rung}, three samples:")
        page.lines(texts)


def _show_sentences(page: Page, seen: Tour) -> None:
    page.heading("Surprisal, word by word")
    page.table(*surprisal_table(seen))
    page.paragraph("In bits; the truth is the surprisal under the grammar itself.")


# Tables -------------------------------------------------------------------------------------------


def docs_table(seen: Tour) -> Lines:
    """The ladder on real English, in comparable units and in others."""
    rows = [
        [
            result.rung,
            f"{result.measurement.perplexity:.2f}",
            result.measurement.protocol.unit,
            f"{result.measurement.bits_per_byte:.3f}",
            f"{result.seconds:.1f}",
        ]
        for result in seen.ladders["python-docs"]
    ]
    return ["model", "perplexity", "per", "bits per byte", "seconds"], rows


def agreement_table(seen: Tour) -> Lines:
    """The percentage of verbs of the right number, by the words between noun and verb."""
    *distances, last = [score.distance for score in next(iter(seen.agreement.values()))]
    rows = [
        [rung, *[f"{100 * score.accuracy:.0f}" for score in scores]]
        for rung, scores in seen.agreement.items()
    ]
    return ["model", *map(str, distances), f"{last}+"], rows


def surprisal_table(seen: Tour) -> Lines:
    """The surprisal of each word of a sentence, in bits: under the models and the grammar."""
    columns = zip(*seen.sentences.values(), seen.true_sentence, strict=True)
    rows = [
        [words[0].word, *(f"{word.surprisal:.2f}" for word in words), f"{truth:.2f}"]
        for *words, truth in columns
    ]
    return ["word", *seen.sentences, "the truth"], rows
