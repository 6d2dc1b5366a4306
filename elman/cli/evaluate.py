"""`elman evaluate`: perplexity and bits per byte of a run on a text; of tasks their measures."""

from typing import Any

from elman.cli.arguments import Adapters, Columns, Data, Json, Reset, Run, Split, WholeNumber
from elman.cli.evaluate_task import evaluate_task, refuse_for_task
from elman.cli.output import MANY_UNKNOWN, counted, note, print_json, print_table
from elman.errors import InputError
from elman.evaluation.accuracy import Accuracy, Counted
from elman.evaluation.measurement import Measurement
from elman.evaluation.reading import Reading
from elman.models import SENTENCE_MODELS
from elman.tasks.language_modelling.trained import TrainedModel, load, run_kind
from elman.text.reader import Document


def evaluate(
    run: Run,
    /,
    *,
    data: Data,
    split: Split = None,
    columns: Columns = None,
    with_: Adapters = (),
    reset: Reset = "stream",
    batch_size: WholeNumber | None = None,
    window: WholeNumber | None = None,
    accuracy: bool = False,
    after: str | None = None,
    until: str | None = None,
    confusion: bool = False,
    beam: WholeNumber | None = None,
    tokenize: str | None = None,
    json: Json = False,
) -> None:
    """Measure a run on a text: perplexity, or the measures of its task.

    For example:
      elman evaluate runs/ptb --data ptb
      elman evaluate runs/ptb --data ptb --with cache
      elman evaluate runs/ptb --data ptb --with cache:decay=0.02,window=500 --json
      elman evaluate runs/ptb --data ptb --with mix:run=runs/other
      elman evaluate runs/sums --data arithmetic --accuracy --after =
      elman evaluate runs/ner --data ner/test.txt --confusion
      elman evaluate runs/en-de --data multi30k --split test_2016_flickr --beam 5

    Parameters
    ----------
    batch_size
        Rows side by side, 1 unless given, of a run that writes texts 64. Never changes the result.
    window
        Tokens scored at a time. Never changes the result.
    accuracy
        Also count how often the likeliest token is the one that comes.
    after
        Of these, only tokens after this one in their line, like = before a result.
    until
        And only up to the next of these.
    confusion
        Of a tagger or classifier: also what was taken for what, most frequent mistakes first.
    beam
        Of a run that writes texts: how many are searched side by side, 5 unless given; 1: greedy.
    tokenize
        Of a run that writes texts: how BLEU finds words, 13a, none, intl, char or zh; by default
        none where marks stand apart already, else 13a.
    """
    if _is_task(run):
        given = {"--with": bool(with_), "--reset": reset != "stream", "--accuracy": accuracy}
        given |= {"--window": window is not None}
        given |= {"--after": after is not None, "--until": until is not None}
        refuse_for_task(run, given)
        written = {"beam": beam, "tokenize": tokenize, "batch_size": batch_size}
        options = {name: value for name, value in written.items() if value is not None}
        evaluate_task(
            run, data, split, columns=columns, confusion=confusion, json=json, options=options
        )
        return
    if columns is not None:
        raise InputError(f"--columns is for tables, and {run} reads running text; leave it out")
    if beam is not None or tokenize is not None:
        raise InputError(f"--beam and --tokenize are for runs that write texts; {run} does not")
    if confusion:
        raise InputError(f"--confusion is for taggers and classifiers, and {run} is neither")
    reading, wanted = (
        Reading(reset, 1 if batch_size is None else batch_size, window),
        _wanted(accuracy, after, until),
    )
    trained = _load(run, with_, data, reset)
    document = trained.choose_split(trained.open(data), split)
    measurement, found = _measure(trained, document, reading, wanted)
    if json:
        result = {"run": run, **measurement.to_data(), "model": trained.model.describe()}
        print_json(result if found is None else {**result, "accuracy": found.to_data()})
        return
    _note(measurement, seen=trained.trained_on(document))
    _print(run, measurement, found, trained.model.describe() if with_ else {})


def _is_task(run: str) -> bool:
    return run_kind(run) in SENTENCE_MODELS


def _wanted(accuracy: bool, after: str | None, until: str | None) -> Counted | None:
    """Which tokens are counted; None: accuracy is not asked for."""
    if accuracy:
        return Counted(after, until)
    if after is not None or until is not None:
        raise InputError("--after and --until say what --accuracy counts; give that too")
    return None


def _load(run: str, adapters: tuple[str, ...], data: str, reset: str) -> TrainedModel:
    trained = load(run)
    if not adapters:
        return trained
    with counted("fitting, tokens") as progress:
        return trained.with_adapters(adapters, data, reset=reset, progress=progress)


def _measure(
    trained: TrainedModel, document: Document, reading: Reading, wanted: Counted | None
) -> tuple[Measurement, Accuracy | None]:
    with counted("scoring, tokens") as progress:
        measurement = trained.measure(document, reading, progress)
    if wanted is None:
        return measurement, None
    with counted("predicting, tokens") as progress:
        return measurement, trained.count_right(document, wanted, reading, progress)


def _note(measurement: Measurement, *, seen: bool) -> None:
    """What keeps the figures from meaning what they seem to; `seen`: in training."""
    if seen:
        note("this is the text that the run was trained on; measure on text it has not seen")
    if measurement.unknown:
        note("unknown words count as one word <unk>, so bits per byte look better than they are")
    if measurement.unknown > MANY_UNKNOWN * measurement.tokens:
        share = measurement.unknown / measurement.tokens
        note(
            f"WARNING: {share:.1%} of the tokens are out of vocabulary. Is the text tokenized like "
            "the training text, with punctuation apart from words?"
        )
    if measurement.impossible:
        note(_impossible(measurement))


def _impossible(measurement: Measurement) -> str:
    """Why the perplexity is infinite, and how to get a finite one."""
    of, undefined = f"of {measurement.tokens:,} tokens", measurement.undefined
    zero = measurement.impossible - undefined
    said = [f"{zero:,} {of} have probability zero (never seen after their context)"] if zero else []
    if undefined:
        said.append(
            f"{undefined:,} {of} have no defined probability (their context was never seen: 0 / 0)"
        )
    return f"{'; '.join(said)}: the perplexity is infinite; a smoother makes it finite"


def _print(
    run: str, measurement: Measurement, found: Accuracy | None, adapted: dict[str, Any]
) -> None:
    """The measures as a table, and how they were obtained; `adapted` describes the adapters."""
    numbers = [
        ["perplexity", measurement.perplexity],
        ["bits per token", measurement.surprisal],
        ["bits per character", measurement.bits_per_character],
        ["bits per byte", measurement.bits_per_byte],
        ["tokens", measurement.tokens],
        ["of them unknown", measurement.unknown],
        ["lines", measurement.lines],
    ]
    if found is not None:
        numbers += [
            ["accuracy", found.accuracy],
            ["tokens that count", found.counted],
            ["lines all right", found.line_accuracy],
        ]
    print_table(["measure", run], numbers)
    if adapted:
        print(f"with: {_settings(adapted)}")
    if found is not None:
        print(f"accuracy: the likeliest token is the one that comes; counted: {found.what}")
    print(f"protocol: {measurement.protocol}")
    print(f"text: {measurement.protocol.text}")


def _settings(description: dict[str, Any]) -> str:
    """What an adapted model is made of, with the settings that were given or fitted."""
    if description["model"] == "mixture":
        parts = zip(description["models"], description["weights"], strict=True)
        return " + ".join(f"{weight:.3f} {_settings(part)}" for part, weight in parts)
    if "around" not in description:
        return str(description["model"])
    own = {key: value for key, value in description.items() if key not in ("model", "around")}
    written = ",".join(f"{key}={_short(value)}" for key, value in own.items())
    return f"{description['model']}:{written} ({_settings(description['around'])})"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
