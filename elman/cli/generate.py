"""`elman generate`: continue a prompt."""

import sys
from dataclasses import dataclass
from typing import Any

from cyclopts import Parameter

from elman.cli.arguments import Adapters, WholeNumber
from elman.cli.output import note, print_json, print_table, stages
from elman.errors import InputError


@Parameter(name="*")
@dataclass(kw_only=True)
class Knobs:
    """How to choose the next token."""

    max_tokens: WholeNumber = 100
    "Most tokens of a continuation."
    temperature: float = 1.0
    "Below 1 safer, above 1 bolder, 0 greedy."
    softmax_alpha: float | None = None
    "Softmax of alpha times the probabilities, as some lectures have it; not the temperature."
    top_k: WholeNumber | None = None
    "Draw among the k likeliest tokens."
    top_p: float | None = None
    "Draw among the fewest tokens that together have probability p."
    min_p: float | None = None
    "Draw among tokens at least this many times as likely as the likeliest."
    greedy: bool = False
    "Always the likeliest token."
    frequency_penalty: float = 0.0
    "Taken off a token's log probability for every time it was generated."
    presence_penalty: float = 0.0
    "Taken off once, if it was generated at all."
    repetition_penalty: float = 1.0
    "Above 1: makes tokens that were generated less likely."
    beam: WholeNumber | None = None
    "Search for the likeliest continuation with a beam of this width."
    length_penalty: float = 0.0
    "Of the beam: above 0 favours longer continuations."
    n_best: WholeNumber = 1
    "Of the beam: how many to print."
    samples: WholeNumber = 1
    "How many continuations to draw."
    seed: WholeNumber = 0
    "Sample i of a seed is always the same."


def generate(
    run: str,
    /,
    *,
    prompt: str = "",
    stop: tuple[str, ...] = (),
    stop_at_line_end: bool = False,
    ban: tuple[str, ...] = (),
    force: str = "",
    allow_unknown: bool = False,
    with_: Adapters = (),
    knobs: Knobs | None = None,
    measure: bool = False,
    against: str | None = None,
    json: bool = False,
) -> None:
    """Continue a prompt with a trained model.

    Examples:
      elman generate runs/ptb --prompt "the price of" --max-tokens 30
      elman generate runs/ptb --prompt "the price of" --top-p 0.9 --samples 3 --seed 7
      elman generate runs/ptb --prompt "the price of" --beam 8 --n-best 3 --stop-at-line-end
      elman generate runs/ptb --samples 50 --measure --against ptb

    Parameters
    ----------
    run
        A run folder.
    prompt
        Text to continue; none: from the start of a line.
    stop
        Stop before this text. May be given several times.
    stop_at_line_end
        Stop at the end of the line.
    ban
        A word that must not come. May be given several times.
    force
        Text that must come first.
    allow_unknown
        Let <unk> be generated.
    with_
        Put an adapter around the model, with its weight: cache:weight=0.1.
    measure
        Print measures of the generated text: variety, repetition, length, copying.
    against
        With --measure: the text (train split) whose copying is measured.
    json
        Print the result as JSON.
    """
    from elman.tasks.generation import Writer, measure_samples
    from elman.tasks.language_model import load

    if against is not None and not measure:
        raise InputError("--against is for --measure; add it, or leave both out")
    trained = load(run).with_adapters(with_)
    options: dict[str, Any] = dict(vars(knobs or Knobs()))
    options |= {"allow_unknown": allow_unknown, "stop_at_line_end": stop_at_line_end, "stop": stop}
    options["banned"] = tuple(number for word in ban for number in _tokens_of(trained, word))
    options["forced"] = tuple(trained.tokenizer.encode(force).tolist())
    if trained.tokenizer.unknown_id in options["forced"]:
        raise InputError(f"--force {force}: has words that this model does not know")
    _note_unknown(trained, prompt)
    one = options["beam"] is None and options["samples"] == 1
    if one and not json and not measure:
        pieces = trained.stream(prompt, **options)
        print(Writer(trained, prompt, ()).prompt, end="", flush=True)
        for piece in pieces:
            print(piece, end="", flush=True)
        print()
        return
    with stages() as progress:
        progress("generating")
        generated = trained.generate(prompt, **options)
        progress("measuring")
        measures = measure_samples(trained, generated, against) if measure else None
    if json:
        print_json({"samples": generated, "measures": measures} if measure else generated)
        return
    for number, item in enumerate(generated, 1):
        print(f"── {number} (log probability {item.log_prob:.2f})\n{item.text}")
    if measures is not None:
        _print_measures(measures)


def _tokens_of(trained: Any, word: str) -> list[int]:
    """The tokens that are this word alone, with and without a space before it."""
    forms = [trained.tokenizer.encode(form).tolist() for form in (word, f" {word}")]
    found = {ids[0] for ids in forms if len(ids) == 1} - {trained.tokenizer.unknown_id}
    if not found:
        raise InputError(f"--ban {word}: is not a single token of this model")
    return sorted(found)


def _note_unknown(trained: Any, prompt: str) -> None:
    ids = trained.tokenizer.encode(prompt).tolist()
    unknown = ids.count(trained.tokenizer.unknown_id)
    if unknown and trained.tokenizer.unknown_id is not None:
        note(f"{unknown} of {len(ids)} tokens of the prompt are unknown to this model")


def _print_measures(measures: Any) -> None:
    sys.stdout.flush()
    rows: list[list[Any]] = [["samples", measures.samples], ["mean length", measures.mean_length]]
    rows += [[f"distinct-{n}", share] for n, share in measures.distinct.items()]
    rows.append(["repeated 4-grams", measures.repetition])
    if measures.copied is not None:
        rows += [[f"copied {n}-grams", share] for n, share in measures.copied.items()]
        rows.append(["longest copy (tokens)", measures.longest_copy])
    print_table(["measure", "value"], rows)
