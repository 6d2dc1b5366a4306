"""`elman generate`: continue a prompt."""

import sys
from dataclasses import dataclass, fields, make_dataclass
from typing import Annotated, Any, get_type_hints

from cyclopts import Parameter

from elman.cli.arguments import Adapters, WholeNumber
from elman.cli.output import note, print_json, print_table, stages
from elman.decoding.options import DecodingOptions
from elman.errors import InputError
from elman.tasks.language_modelling.continuation import Continuation
from elman.tasks.language_modelling.generation import measure_samples
from elman.tasks.language_modelling.trained import load


def _flags() -> list[tuple[str, Any, Any]]:
    """Name, type with help, and default of every decoding option that describes itself."""
    hints = get_type_hints(DecodingOptions)
    whole = {int: WholeNumber, int | None: WholeNumber | None}
    found = []
    for knob in fields(DecodingOptions):
        if knob.metadata:
            about, hint = knob.metadata["about"], hints[knob.name]
            help_text = Parameter(help=f"{about[0].upper()}{about[1:]}.")
            found.append((knob.name, Annotated[whole.get(hint, hint), help_text], knob.default))
    return found


# How to choose the next token: flags made from the options themselves. With a module, or cyclopts
# takes the class for one of Python's own and does not look inside.
_own_module = {"__module__": __name__}
Knobs: Any = Parameter(name="*")(
    make_dataclass("Knobs", _flags(), kw_only=True, namespace=_own_module)
)


@Parameter(name="*")
@dataclass(kw_only=True)
class Wishes:
    """What the text may and must be."""

    stop: tuple[str, ...] = ()
    "Stop before this text. May be given several times."
    stop_at_line_end: bool = False
    "Stop at the end of the line."
    ban: tuple[str, ...] = ()
    "A word that must not come. May be given several times."
    force: str = ""
    "Text that must come first."
    allow_unknown: bool = False
    "Let <unk> be generated."


def generate(
    run: str,
    /,
    *,
    prompt: str = "",
    wishes: Wishes | None = None,
    with_: Adapters = (),
    knobs: Knobs | None = None,
    measure: bool = False,
    against: str | None = None,
    json: bool = False,
) -> None:
    """Continue a prompt with a trained model.

    For example:
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
    with_
        Put an adapter around the model, with its weight: cache:weight=0.1.
    measure
        Print measures of the generated text: variety, repetition, length, copying.
    against
        With --measure: the text (train split) whose copying is measured.
    json
        Print the result as JSON.
    """

    if against is not None and not measure:
        raise InputError("--against is for --measure; add it, or leave both out")
    trained = load(run).with_adapters(with_)
    knobs = knobs or Knobs()
    options = {**vars(knobs), **_in_ids(trained, wishes or Wishes())}
    _note_unknown(trained, prompt)
    if knobs.beam is None and knobs.samples == 1 and not json and not measure:
        _print_stream(trained, prompt, options)
    else:
        _print_all(trained, prompt, options, measure, against, json)


def _in_ids(trained: Any, wishes: Wishes) -> dict[str, Any]:
    """The wishes as options of the model, which bans and forces ids."""
    banned = tuple(number for word in wishes.ban for number in _tokens_of(trained, word))
    forced = tuple(trained.tokenizer.encode_typed(wishes.force).tolist())
    if trained.tokenizer.unknown_id in forced:
        raise InputError(f"--force {wishes.force}: has words that this model does not know")
    return {
        "stop": wishes.stop,
        "stop_at_line_end": wishes.stop_at_line_end,
        "allow_unknown": wishes.allow_unknown,
        "banned": banned,
        "forced": forced,
    }


def _print_stream(trained: Any, prompt: str, options: dict[str, Any]) -> None:

    pieces = trained.stream(prompt, **options)
    print(Continuation(trained.tokenizer, prompt).prompt, end="", flush=True)
    for piece in pieces:
        print(piece, end="", flush=True)
    print()


def _print_all(
    trained: Any,
    prompt: str,
    options: dict[str, Any],
    measure: bool,
    against: str | None,
    json: bool,
) -> None:

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
    ids = trained.tokenizer.encode_typed(prompt).tolist()
    if unknown := ids.count(trained.tokenizer.unknown_id):
        note(f"{unknown} of {len(ids)} tokens of the prompt are out of vocabulary")


def _print_measures(measures: Any) -> None:
    sys.stdout.flush()
    rows: list[list[Any]] = [["samples", measures.samples], ["mean length", measures.mean_length]]
    rows += [[f"distinct-{n}", share] for n, share in measures.distinct.items()]
    rows.append(["repeated 4-grams", measures.repetition])
    if measures.copied is not None:
        rows += [[f"copied {n}-grams", share] for n, share in measures.copied.items()]
        rows.append(["longest copy (tokens)", measures.longest_copy])
    print_table(["measure", "value"], rows)
