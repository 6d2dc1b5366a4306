"""The settings of the section `text`: how the text of a task becomes examples."""

from __future__ import annotations

from dataclasses import dataclass, field

from elman.config import at_least, check_types, convert
from elman.errors import InputError, choose
from elman.text.example_splits import ORDERED, SHUFFLED, check_split
from elman.text.normalising import FORMS
from elman.text.tables import check_columns
from elman.text.tag_schemes import SCHEMES
from elman.text.tokenizer import TextConfig

MEASURES = ("bleu", "chrf", "rouge-1", "rouge-2", "rouge-l", "exact")


@dataclass(kw_only=True)
class SentenceConfig:
    """Settings of the vocabulary and the split."""

    lowercase: bool = False  # look words up in lower case; character inputs keep their case
    digits_alike: bool = False  # every digit counts as 0
    min_count: int = 1  # words seen less often are out-of-vocabulary
    normalise: str = "nfc"  # none, nfc, or nfc+quotes: ’ and ' alike, as in the training text
    split: str = SHUFFLED  # of data without splits: shuffled, ordered, hash, random:SEED

    def __post_init__(self) -> None:
        check_types(self)
        choose(FORMS, self.normalise, "text.normalise")
        check_split(self.split)
        at_least(self.min_count, 1, "text.min_count")


@dataclass(kw_only=True)
class TaggedConfig(SentenceConfig):
    """Words with tags."""

    column: str = ""  # the column of the tags: upos, xpos or a number; "": upos, or the last
    features: tuple[str, ...] = ()  # further columns to read as features of each word
    scheme: str = "as written"  # tag scheme in training: as written, bio or bioes

    def __post_init__(self) -> None:
        super().__post_init__()
        choose(dict.fromkeys(("as written", *SCHEMES)), self.scheme, "text.scheme")
        if len(set(self.features)) < len(self.features):
            raise InputError(f"text.features={[*self.features]}: a column is given twice")


@dataclass(kw_only=True)
class LabelledConfig(SentenceConfig):
    """Texts with labels."""

    phrases: bool = False  # for trees: train on every phrase, not only on whole sentences
    rename: dict[str, str] = field(default_factory=dict)  # label to new label; "" drops the label
    columns: dict[str, str] = field(default_factory=dict)  # for tables: {text = "…", label = "…"}
    label_separator: str = ""  # several labels in a cell of a table, like a|b; "": one label

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rename = {
            str(label): convert(new, str, f"text.rename.{label}")
            for label, new in self.rename.items()
        }
        self.columns = check_columns(self.columns, ("text", "text2", "label", "weight"))


@dataclass(kw_only=True)
class PlainConfig(SentenceConfig):
    """Plain text, for word vectors."""

    split: str = ORDERED  # running text keeps its order
    plain: bool = False  # read the file as text even if it looks like a table


@dataclass(kw_only=True)
class LinesConfig(PlainConfig):
    """Plain text, for bidirectional language models."""

    longest: int = 60  # words; longer lines are split at the end of a sentence, or after so many

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self.longest, 1, "text.longest")


@dataclass(kw_only=True)
class PairConfig:
    """Pairs of a source and a target."""

    source: str = "source"  # ending of the source files, or name of the column or field: en
    target: str = "target"  # the same for the target: de
    tokenizer: str = "auto"  # elman list tokenizers; "auto" decides from the training text
    target_tokenizer: str = ""  # a different tokenizer for the target; "": the same kind
    shared: bool = False  # one vocabulary for both sides
    vocabulary_size: int | None = None  # largest vocabulary of a side; None: no limit
    min_count: int = 0  # rarer tokens become unknown or bytes; 0: the default of the tokenizer
    lowercase: bool = False
    normalise: str = "nfc"  # none, nfc, or nfc+quotes: ’ and ' alike, as in the training text
    longest: int = 100  # tokens of a side; longer pairs are not trained on
    measure: str = "bleu"  # main measure: bleu, chrf, rouge-1, rouge-2, rouge-l, exact
    split: str = SHUFFLED  # of data without splits: shuffled, ordered, hash, random:SEED
    columns: dict[str, str] = field(default_factory=dict)  # {source = "…", target = "…"}

    def __post_init__(self) -> None:
        check_types(self)
        choose(dict.fromkeys(MEASURES), self.measure, "text.measure")
        check_split(self.split)
        self.columns = check_columns(self.columns, ("source", "target"))
        at_least(self.longest, 1, "text.longest")
        if self.source == self.target:
            raise InputError(
                f"text.source={self.source}: is also the target; name two different sides"
            )
        if self.shared and self.target_tokenizer not in ("", self.tokenizer):
            raise InputError(
                "text.shared=true: one vocabulary has one tokenizer; leave out "
                "text.target_tokenizer"
            )
        self.side(self.tokenizer)  # refuses wrong sizes

    def side(self, tokenizer: str) -> TextConfig:
        """The tokenizer settings of one side."""
        return TextConfig(
            tokenizer=tokenizer,
            vocabulary_size=self.vocabulary_size,
            min_count=self.min_count,
            lowercase=self.lowercase,
            normalise=self.normalise,
        )
