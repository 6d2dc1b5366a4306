"""`elman translate`: write translations, summaries or captions, one for every source."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import GivenText, InputFile, Json, Run, Threads, read_given, use_threads
from elman.cli.ask import ask, given_values, make_flags, open_run, print_answer
from elman.cli.output import note
from elman.errors import InputError
from elman.evaluation.attention_map import AttentionMap
from elman.figures.attention_maps import check_map_file, write_maps
from elman.figures.files import check_file, writing
from elman.tasks.translation.questions import Translate
from elman.tasks.translation.trained import mix_translators
from elman.tasks.translation.vectors import is_vectors, read_vectors

SearchFlags: Any = make_flags(Translate, without=("attention",))
_MIX = Parameter(
    name="--mix",
    help="Add another run with the same vocabularies to an ensemble; probabilities are averaged. "
    "Can be repeated.",
)


@Parameter(name="*")
@dataclass(kw_only=True)
class AttentionFlags:
    """Attention maps and alignments to write."""

    attention: str | None = None
    "Write attention maps to this file: one picture (.png, .svg) per line, or .json."
    alignments: str | None = None
    "Write word alignments to this file, one line per source: 0-0 1-2 (source-target, from 0)."

    @property
    def wanted(self) -> bool:
        """Whether there is anything to write."""
        return self.attention is not None or self.alignments is not None

    def check(self, sources: int) -> None:
        """Refuse files that cannot be written, before the work."""
        if self.attention is not None:
            check_map_file(self.attention, sources)
        if self.alignments is not None:
            check_file(self.alignments, "a list of alignments", ())

    def write(self, maps: list[AttentionMap]) -> None:
        """Write the requested files for the best output of each source."""
        if self.alignments is not None:
            with writing(Path(self.alignments)) as temporary:
                lines = "".join(f"{one.pharaoh}\n" for one in maps)
                temporary.write_text(lines, encoding="utf-8")
        if self.attention is not None:
            written = write_maps(maps, self.attention)
            if len(written) > 1:
                note(f"pictures: {written[0]} … {written[-1].name}")


def translate(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: GivenText = None,
    search: SearchFlags | None = None,
    looking: AttentionFlags | None = None,
    mix: Annotated[tuple[str, ...], _MIX] = (),
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Translate, summarise or caption: print one output for every source.

    Every input line gives one output line; empty lines stay empty. A run trained on texts and their
    summaries writes summaries. A run trained on vectors, such as image features, writes captions.

    For example:
      elman translate runs/en-de --text "two dogs play in the snow ."
      elman translate runs/en-de test.en > test.de
      elman translate runs/en-de test.en --beam 1
      elman translate runs/en-de --text "two dogs play ." --attention map.png
      elman translate runs/en-de test.en --mix runs/en-de-2 --alignments test.align
      elman translate runs/news article.txt --whole --min-tokens 20
      elman translate runs/pictures features.npy --beam 10 --n-best 3
      cat test.en | elman translate runs/en-de - --n-best 3 --json

    Parameters
    ----------
    file
        A text file with one source per line; - for standard input. Or NumPy vectors, .npy or .npz:
        one vector per example, or a grid of vectors.
    """
    values, looking = given_values(search), looking or AttentionFlags()
    document = None
    if file is not None and is_vectors(Path(file)):
        if text is not None or values.get("whole"):
            raise InputError(f"{file}: this file contains vectors; leave out --text and --whole")
        values["vectors"] = read_vectors(file)
        looking.check(len(values["vectors"]))
    else:
        document = read_given(file, text)
        looking.check(1 if values.get("whole") else document.lines)
    use_threads(threads)
    trained = mix_translators([open_run(one, "translate") for one in (run, *mix)])
    if looking.wanted:
        trained.check_attention()
    answer = ask(trained, "translate", values | {"attention": looking.wanted}, document)
    looking.write(answer.maps)
    print_answer(answer, json)
