"""The tokenizer of a Hugging Face folder for models over words: ids, and characters of the words.

`huggingface.py` writes this file and `portable/words.py` as one file, so it needs no elman. Texts
are split into words as elman splits them. `tokenizer.json` has the vocabulary; padding, truncation
and positions come from the library below.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from transformers import BatchEncoding, PreTrainedTokenizerFast

from elman.formats.portable.words import WordReader
from elman.text.corpus_form import Piece


class ElmanTokenizer(PreTrainedTokenizerFast):
    """Words of a text; `characters` (B, T, L) spells each of them."""

    # Without an `__init__` of its own: transformers would rebuild the library's tokenizer for it.

    @cached_property
    def reader(self) -> WordReader:
        """How texts are split and words are spelled."""
        vocabulary = self._tokenizer.get_vocab(with_added_tokens=False)
        words = sorted(vocabulary, key=vocabulary.__getitem__)
        return WordReader(words, self.init_kwargs["elman_words"])

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        is_split_into_words: bool = False,
        return_tensors: Any = None,
        return_offsets_mapping: bool = False,
        **options: Any,
    ) -> BatchEncoding:
        """As for other tokenizers, with `characters` in addition."""
        batched = isinstance(text, list | tuple)
        if is_split_into_words:
            batched = batched and len(text) > 0 and isinstance(text[0], list | tuple)
        sides = [
            [self._pieces(one, is_split_into_words) for one in (given if batched else [given])]
            for given in ([text] if text_pair is None else [text, text_pair])
        ]
        looked_up = [
            [[self.reader.normalise(piece.token) for piece in row] for row in side]
            for side in sides
        ]
        options["split_special_tokens"] = True  # a text with the name of a special token is text
        found = super()._encode_plus(*looked_up, is_split_into_words=True, **options)
        rows = found.get("overflow_to_sample_mapping", range(len(found.encodings)))
        placed = [
            self._placed(encoding, [side[row] for side in sides])
            for encoding, row in zip(found.encodings, rows, strict=True)
        ]
        data = dict(found)
        if "characters" in self.model_input_names:
            data["characters"] = [self._spell(row) for row in placed]
        if return_offsets_mapping:
            data["offset_mapping"] = [
                [(0, 0) if piece is None else (piece.start, piece.end) for piece in row]
                for row in placed
            ]
        return self._as_asked(data, found.encodings, batched, return_tensors)

    def _pieces(self, text: Any, is_split: bool) -> list[Piece]:
        return (
            [Piece(word, 0, len(word)) for word in text] if is_split else self.reader.pieces(text)
        )

    @staticmethod
    def _placed(encoding: Any, sides: list[list[Piece]]) -> list[Piece | None]:
        """The word of each id; None: padding."""
        places = zip(encoding.word_ids, encoding.sequence_ids, strict=True)
        return [None if word is None else sides[side or 0][word] for word, side in places]

    def _spell(self, row: list[Piece | None]) -> np.ndarray:
        spelled = self.reader.spell(["" if piece is None else piece.token for piece in row])
        spelled[[piece is None for piece in row]] = 0
        return spelled

    @staticmethod
    def _as_asked(
        data: dict[str, Any], encodings: Any, batched: bool, tensors: Any
    ) -> BatchEncoding:
        """Lists, or arrays for tensors: an empty list has no type of its own."""
        if tensors is None:
            data["characters"] = [row.tolist() for row in data.get("characters", [])]
            if not data["characters"]:
                del data["characters"]
            if not batched and "overflow_to_sample_mapping" not in data:
                data = {name: value[0] for name, value in data.items()}
        elif len({len(row) for row in data["input_ids"]}) == 1:
            data = {name: np.array(value, dtype=np.int64) for name, value in data.items()}
        return BatchEncoding(data, encodings, tensor_type=tensors)

    def _pad(self, encoded_inputs: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Pad characters too."""
        before = len(encoded_inputs["input_ids"])
        found: dict[str, Any] = super()._pad(encoded_inputs, *arguments, **options)
        missing = len(found["input_ids"]) - before
        if "characters" in found and missing:
            empty = [[0] * (self.reader.longest + 2)] * missing
            rows = [list(row) for row in found["characters"]]
            side = options.get("padding_side") or self.padding_side
            found["characters"] = empty + rows if side == "left" else rows + empty
        return found
