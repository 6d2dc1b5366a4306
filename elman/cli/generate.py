"""`elman generate`: continue a prompt."""

from typing import Any

from elman.cli.arguments import Adapters, Json, Run, Threads, use_threads
from elman.cli.ask import ask, flags_in_messages, given_values, make_flags, open_run, print_answer
from elman.cli.output import note
from elman.tasks.language_modelling.generation import Generate, prompt_notes, stream_answer
from elman.tasks.question import check_request, make_request

GenerateFlags: Any = make_flags(Generate)


def generate(
    run: Run,
    /,
    *,
    flags: GenerateFlags | None = None,
    with_: Adapters = (),
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Continue a prompt with a trained model.

    For example:
      elman generate runs/ptb --prompt "the price of" --max-tokens 30
      elman generate runs/ptb --prompt "the price of" --top-p 0.9 --samples 3 --seed 7
      elman generate runs/ptb --prompt "the price of" --beam 8 --n-best 3 --stop-at-line-end
      elman generate runs/ptb --samples 50 --measure --against ptb
    """
    use_threads(threads)
    trained = open_run(run, "generate", with_)
    values = given_values(flags or GenerateFlags())
    request = make_request(Generate, values)
    if json or request.measure or request.beam is not None or request.samples != 1:
        print_answer(ask(trained, "generate", values), json)
        return
    with flags_in_messages(Generate):
        check_request(request)
        for message in prompt_notes(trained, request.prompt):
            note(message)
        for piece in stream_answer(trained, request):
            print(piece, end="", flush=True)
    print()
