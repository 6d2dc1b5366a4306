"""Language models for pyctcdecode, which decodes the output of speech recognisers.

`SpeechModel` puts any language model behind the interface that pyctcdecode calls: an n-gram, a
network, a mixture, anything with the contract. `write` makes the folder that pyctcdecode loads with
KenLM, for n-gram models.

    decoder = BeamSearchDecoderCTC(Alphabet.build_alphabet(labels), SpeechModel.of(run))

pyctcdecode: Kensho Technologies, 2021. Its scores are alpha * log p(word) + beta.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import torch

from elman.errors import InputError
from elman.formats import Exported
from elman.formats.arpa_writer import check_exportable, write_arpa
from elman.models.contract import LanguageModel
from elman.state import State
from elman.text.tokenizer import EOS, UNKNOWN, Tokenizer

# The defaults of pyctcdecode.
ALPHA, BETA, UNKNOWN_OFFSET = 0.5, 1.5, -10.0
_LONG_WORD = 6  # letters from which an unknown word costs more
_UNLIMITED = 10  # words that a beam keeps for a model without a limit


class SpeechState(NamedTuple):
    """What was read so far."""

    state: State
    begins: bool  # whether no word was read yet


class SpeechModel:
    """A language model with the interface of pyctcdecode's `AbstractLanguageModel`."""

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Tokenizer,
        *,
        alpha: float = ALPHA,
        beta: float = BETA,
        unk_score_offset: float = UNKNOWN_OFFSET,
        score_boundary: bool = True,
    ) -> None:
        """alpha: weight of the model; beta: reward of each word; unk_score_offset: added to log10 p
        of an out-of-vocabulary word; score_boundary: whether the end of the text counts.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.alpha, self.beta = alpha, beta
        self.unk_score_offset, self.score_boundary = unk_score_offset, score_boundary
        self._beginnings = _beginnings(tokenizer)

    @classmethod
    def of(cls, run: Any, **options: float) -> SpeechModel:
        """The model of a run, with its adapters."""
        return cls(run.model, run.tokenizer, **options)  # type: ignore[arg-type]

    @property
    def order(self) -> int:
        """How many words a beam must remember, including the next one."""
        horizon = self.model.horizon
        return _UNLIMITED if horizon is None else horizon + 1

    def get_start_state(self) -> SpeechState:
        """The state at the beginning of a text."""
        return SpeechState(self.model.start(1), True)

    def score_partial_token(self, partial_token: str) -> float:
        """A penalty if no word of the vocabulary begins like this."""
        if self._beginnings is None or partial_token in self._beginnings:
            return 0.0
        return self.unk_score_offset * max(1.0, len(partial_token) / _LONG_WORD)

    def get_partial_token_bonus(self, partial_token: str) -> float:
        """The same, by its name in older versions."""
        return self.score_partial_token(partial_token)

    @torch.inference_mode()
    def score(
        self, prev_state: SpeechState, word: str, is_last_word: bool = False
    ) -> tuple[float, SpeechState]:
        """The score of a word after a state, and the state after it."""
        tokenizer = self.tokenizer
        spaced = word if prev_state.begins or tokenizer.whole_words else f" {word}"
        ids = torch.from_numpy(tokenizer.encode(spaced))[None]
        log_probs, state = self.model.score(ids, prev_state.state)
        nats = float(log_probs.sum())
        if tokenizer.unknown_id is not None and bool((ids == tokenizer.unknown_id).any()):
            nats += self.unk_score_offset * math.log(10)
        if is_last_word and self.score_boundary:
            end = torch.tensor([[tokenizer.eos_id]])
            nats += float(self.model.score(end, state)[0])
        return self.alpha * nats + self.beta, SpeechState(state, False)

    def reset_params(self, **params: Any) -> None:
        """Change alpha, beta, unk_score_offset or score_boundary."""
        for name in ("alpha", "beta", "unk_score_offset", "score_boundary"):
            if params.get(name) is not None:
                setattr(self, name, params[name])


def _beginnings(tokenizer: Tokenizer) -> set[str] | None:
    """All beginnings of words of the vocabulary; None if every word can be spelled."""
    if not tokenizer.whole_words or tokenizer.unknown_id is None:
        return None
    words = (token for token in tokenizer.tokens if token not in (EOS, UNKNOWN))
    return {word[:length] for word in words for length in range(len(word) + 1)}


def check(run: Any) -> None:
    """Refuse a run that KenLM cannot read."""
    if not 2 <= run.model.tables.order <= 6:
        raise InputError(f"{run.name}: KenLM in its usual build reads only orders from 2 to 6")
    check_exportable(run.model.tables, run.tokenizer.tokens)


def write(run: Any, path: Path) -> Exported:
    """Write the folder that `LanguageModel.load_from_dir` of pyctcdecode reads."""
    check(run)
    words = [token for token in run.tokenizer.tokens if token not in (EOS, UNKNOWN)]
    attributes = {
        "alpha": ALPHA,
        "beta": BETA,
        "unk_score_offset": UNKNOWN_OFFSET,
        "score_boundary": True,
    }
    path.mkdir(exist_ok=True)
    write_arpa(path / "model.arpa", run.model.tables, run.tokenizer.tokens)
    (path / "unigrams.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    (path / "attrs.json").write_text(json.dumps(attributes), encoding="utf-8")
    return Exported(f"a language model of {len(words):,} words", {"words": len(words)})
