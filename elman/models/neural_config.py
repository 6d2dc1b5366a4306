"""What can be chosen of every neural model: its ends, how a text is cut, how weights begin.

A family adds its own settings (`RecurrentConfig`, `WindowConfig`), and what is chosen is checked
before anything is built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from elman.config import check_types
from elman.errors import InputError, choose
from elman.layers.dropout import check_rate
from elman.layers.inputs import INPUTS
from elman.layers.outputs import OUTPUTS
from elman.options import check_options

INITIALISERS = ("default", "uniform", "normal")


@dataclass(kw_only=True)
class NeuralConfig:
    """What all neural models have."""

    contexts: ClassVar[tuple[str, ...]] = ("stream", "line")

    context: str = "stream"  # stream: the text runs on; line: every line by itself
    input: str = "words"  # elman list inputs
    input_options: dict[str, Any] = field(default_factory=dict)  # of the input, like highways = 2
    embedding_size: int = 200  # numbers per word vector
    tied: bool = True  # word vectors serve as the output's weights too (Press and Wolf 2017)
    output: str = "full"  # elman list outputs
    output_options: dict[str, Any] = field(default_factory=dict)  # of the output: samples = 1000
    dropout_words: float = 0.0  # whole words, everywhere in a window
    init: str = "default"  # of all weights: default (each part's own), uniform or normal
    init_scale: float = 0.1  # bound of the uniform, standard deviation of the normal one

    def __post_init__(self) -> None:
        check_types(self)
        self.input_options = check_options(INPUTS, self.input, self.input_options)
        self.output_options = check_options(OUTPUTS, self.output, self.output_options)
        choose(dict.fromkeys(INITIALISERS), self.init, "init")
        choose(dict.fromkeys(self.contexts), self.context, "context")
        check_rate(self.dropout_words, "dropout_words")
        if self.embedding_size < 1:
            raise InputError(f"embedding_size={self.embedding_size}: must be at least 1")
        if not self.init_scale >= 0:  # nor is it NaN
            raise InputError(f"init_scale={self.init_scale}: must not be negative")
