"""How the text of a task becomes examples: settings of the section `text`."""

from __future__ import annotations

from dataclasses import dataclass, field

from elman.config import check_types, convert
from elman.errors import InputError, choose
from elman.text.entities import SCHEMES


@dataclass(kw_only=True)
class SentenceConfig:
    """Which words are known."""

    lowercase: bool = False  # of the words that are looked up; characters stay as they are
    digits_alike: bool = False  # every digit counts as 0
    min_count: int = 1  # words seen less often are unknown

    def __post_init__(self) -> None:
        check_types(self)
        if self.min_count < 1:
            raise InputError(f"text.min_count={self.min_count}: must be at least 1")


@dataclass(kw_only=True)
class TaggedConfig(SentenceConfig):
    """Words with tags."""

    column: str = ""  # where the tags are: upos, xpos or a number; "": upos, or the last
    features: tuple[str, ...] = ()  # further columns that are read beside the word
    scheme: str = "as written"  # of spans, in training: as written, bio or bioes

    def __post_init__(self) -> None:
        super().__post_init__()
        choose(dict.fromkeys(("as written", *SCHEMES)), self.scheme, "text.scheme")
        if len(set(self.features)) < len(self.features):
            raise InputError(f"text.features={[*self.features]}: a column stands there twice")


@dataclass(kw_only=True)
class LabelledConfig(SentenceConfig):
    """Texts with labels."""

    phrases: bool = False  # of trees: learn every phrase too, not only whole sentences
    rename: dict[str, str] = field(default_factory=dict)  # label to another; to "": left out

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rename = {
            str(label): convert(new, str, f"text.rename.{label}")
            for label, new in self.rename.items()
        }


@dataclass(kw_only=True)
class LinesConfig(SentenceConfig):
    """Plain text, for a model of its words."""

    longest: int = 60  # words; longer lines are cut at the end of a sentence, or there

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest < 1:
            raise InputError(f"text.longest={self.longest}: must be at least 1")
