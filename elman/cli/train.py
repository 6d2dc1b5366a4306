"""`elman train`: train a model and save it as a run folder."""

from typing import Any

from elman.cli.arguments import WholeNumber
from elman.cli.output import note, print_json, print_table, stages


def train(
    recipe: str = "ngram",
    /,
    *,
    data: str,
    out: str,
    set: tuple[str, ...] = (),
    seed: WholeNumber | None = None,
    overwrite: bool = False,
    json: bool = False,
) -> None:
    """Train a model on a file, a folder or a built-in corpus, and save it as a run folder.

    Examples:
      elman train ngram --data grammar --out runs/grammar
      elman train ngram --data my-text.txt --out runs/mine --set model.order=3
      elman train ngram-characters --data names.txt --out runs/names

    Parameters
    ----------
    recipe
        A shipped name (elman list recipes) or a TOML file.
    data
        A text file, a folder with train/valid/test files, or a built-in corpus.
    out
        The run folder to write.
    set
        Change a setting of the recipe: section.field=value. May be given several times.
    seed
        Seed of everything random; 0 unless the recipe has another.
    overwrite
        Replace a run that is there already.
    json
        Print the result as JSON.
    """
    from elman.tasks.training import train as train_model

    with stages() as progress:
        trained = train_model(
            recipe,
            data=data,
            out=out,
            overrides=set,
            seed=seed,
            overwrite=overwrite,
            progress=progress,
        )
    facts = trained.facts
    if json:
        print_json({"run": out, "config": trained.config.to_data(), **facts})
        return
    _print_facts(out, trained.tokenizer.name, facts)


def _print_facts(out: str, tokenizer: str, facts: dict[str, Any]) -> None:
    data, model = facts["data"], facts["model"]
    for message in [*data["notes"], *model["notes"]]:
        note(message)
    if data["empty_lines"]:
        note(f"{data['empty_lines']:,} empty lines; each counts as one line end")
    print(
        f"read {data['lines']:,} lines, {data['tokens']:,} tokens ({tokenizer}), "
        f"vocabulary {model['vocabulary_size']:,}"
    )
    rows = [
        [order, count, *(f"{value:.3f}" for value in discounts)]
        for order, (count, discounts) in enumerate(
            zip(model["ngrams"], model["discounts"] or [[]] * len(model["ngrams"]), strict=True), 1
        )
    ]
    width = max(len(row) for row in rows)
    names = [f"D{i}" if i < width - 2 else f"D{i}+" for i in range(1, width - 1)]
    print_table(["order", "n-grams", *names], [row + [None] * (width - len(row)) for row in rows])
    validation = facts["validation"]
    if validation:
        perplexity = validation["perplexity"]
        shown = (
            "infinite (unseen words are impossible)" if perplexity is None else f"{perplexity:.2f}"
        )
        print(f"validation perplexity {shown} on {validation['tokens']:,} tokens")
    print(f"trained in {facts['seconds']:.1f} s, saved in {out}")
    print(f"next: elman generate {out} --max-tokens 50")
