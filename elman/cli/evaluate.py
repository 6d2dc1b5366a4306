"""`elman evaluate`: perplexity and bits per byte of a run on a text."""

from elman.cli.arguments import Adapters, WholeNumber
from elman.cli.output import counted, note, print_json, print_table


def evaluate(
    run: str,
    /,
    *,
    data: str,
    split: str | None = None,
    with_: Adapters = (),
    reset: str = "stream",
    batch_size: WholeNumber = 1,
    window: WholeNumber | None = None,
    json: bool = False,
) -> None:
    """Perplexity, surprisal, bits per character and per byte of a run on a text.

    Examples:
      elman evaluate runs/ptb --data ptb
      elman evaluate runs/ptb --data ptb --with cache
      elman evaluate runs/ptb --data ptb --with cache:decay=0.02,window=500 --json
      elman evaluate runs/ptb --data ptb --with mix:run=runs/other

    Parameters
    ----------
    run
        A run folder.
    data
        A text file, a folder with train/valid/test files, or a built-in corpus.
    split
        train, valid or test. By default test, or all of a single file the run has not seen.
    with_
        Put an adapter around the model (elman list adapters), with settings after a colon. May be
        given several times. Weights that are not given are fitted on the valid split.
    reset
        "stream" carries the state through the text, "line" starts anew at every line.
    batch_size
        Rows scored side by side. Never changes the result.
    window
        Tokens scored at a time. Never changes the result.
    json
        Print the result as JSON.
    """
    from elman.tasks.language_model import load

    trained = load(run)
    if with_:
        with counted("fitting", None):
            trained = trained.with_adapters(with_, data)
    with counted("scoring tokens", None) as progress:
        measurement = trained.evaluate(
            data, split=split, reset=reset, batch_size=batch_size, window=window, progress=progress
        )
    if json:
        print_json({"run": run, **measurement.to_data(), "model": trained.model.describe()})
        return
    if measurement.impossible:
        note(f"{measurement.impossible:,} tokens have probability zero: the perplexity is infinite")
    numbers = [
        ["perplexity", measurement.perplexity],
        ["bits per token", measurement.surprisal],
        ["bits per character", measurement.bits_per_character],
        ["bits per byte", measurement.bits_per_byte],
        ["tokens", measurement.tokens],
        ["of them unknown", measurement.unknown],
        ["lines", measurement.lines],
    ]
    print_table(["measure", run], numbers)
    if with_:
        print(f"mixture weights: {_weights(trained.model.describe())}")
    print(f"protocol: {measurement.protocol}")
    print(f"text: {measurement.protocol.text}")


def _weights(description: dict) -> str:  # type: ignore[type-arg]
    parts = zip(description["models"], description["weights"], strict=True)
    return ", ".join(f"{part['model']} {weight:.3f}" for part, weight in parts)
