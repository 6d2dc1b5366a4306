"""The classes of a Hugging Face folder: configuration and models for transformers.

`huggingface.py` writes this file and the portable models as one modelling file, so it needs torch
and transformers only. The state of the network is the cache of `generate`.

A text begins after a line end. So a new row has read `<eos>`; if its first token is `<eos>`, that
one counts. With and without a first `<eos>`, the probabilities are those of elman. The id after the
vocabulary, `<|endoftext|>`, is read as `<eos>`.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import (
    BaseModelOutput,
    CausalLMOutputWithPast,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)

from elman.formats.portable.families import build


class ElmanConfig(PreTrainedConfig):
    """The settings of the network, and what transformers needs."""

    model_type = "elman"
    keys_to_ignore_at_inference = ["past_key_values"]  # as transformers has it

    def __init__(self, network: dict[str, Any] | None = None, **further: Any) -> None:
        self.network = network or {}
        self.use_cache = further.pop("use_cache", True)
        super().__init__(**further)


class ElmanState:
    """The state of every row, as a cache for `generate`."""

    is_compileable = False

    def __init__(self, parts: list[torch.Tensor], tokens: int) -> None:
        self.parts, self.tokens = parts, tokens

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.tokens

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        self.parts = [part.index_select(0, beam_idx.to(part.device)) for part in self.parts]

    def batch_repeat_interleave(self, repeats: int) -> None:
        self.parts = [part.repeat_interleave(repeats, 0) for part in self.parts]

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        self.parts = [part[indices] for part in self.parts]


class ElmanForCausalLM(PreTrainedModel, GenerationMixin):
    """A language model of elman: recurrent, feed-forward, log-bilinear or n-gram."""

    config_class = ElmanConfig
    config: ElmanConfig
    _is_stateful = True  # a state cannot be cut back to fewer tokens
    _no_split_modules = ["Recurring", "Window", "Counted"]
    main_input_name = "input_ids"

    def __init__(self, config: ElmanConfig) -> None:
        super().__init__(config)
        self.network = build(config.network)
        self.post_init()

    def _init_weights(self, module: torch.nn.Module) -> None:
        """Weights are always loaded."""

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False

    def get_input_embeddings(self) -> Any:
        return getattr(self.network, "input", None)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        past_key_values: ElmanState | None = None,
        labels: torch.Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        return_dict: bool | None = None,
        **ignored: Any,
    ) -> Any:
        """Logits (B, T, V) of the token after each; `labels` (B, T) as for other language models:
        the same ids, -100 where none is predicted.
        """
        size, eos = self.network.vocabulary_size, self.network.eos_id
        input_ids = input_ids.masked_fill(input_ids >= size, eos)
        real = None
        if attention_mask is not None:
            real = attention_mask[:, -input_ids.shape[1] :].bool()
            if bool(real.all()) or (past_key_values is None and _ends_in_padding(real)):
                real = None  # padding at the end changes no token before it
        before = self._begin(input_ids, real) if past_key_values is None else past_key_values.parts
        hidden, after = self.network.read(input_ids, before, real)
        scores = self.network.scores(hidden[:, -logits_to_keep:] if logits_to_keep else hidden)
        never = torch.finfo(scores.dtype).min  # of `<|endoftext|>`
        logits = torch.nn.functional.pad(scores, (0, 1), value=never)
        loss = None
        if labels is not None:
            labels = labels.masked_fill(labels >= size, eos)
            loss = self.loss_function(logits, labels, vocab_size=size + 1)
        state = None
        if self.config.use_cache if use_cache is None else use_cache:
            read = 0 if past_key_values is None else past_key_values.tokens
            state = ElmanState(after, read + input_ids.shape[1])
        found = CausalLMOutputWithPast(loss=loss, logits=logits, past_key_values=state)
        return found if return_dict is not False else found.to_tuple()

    def _begin(self, ids: torch.Tensor, real: torch.Tensor | None) -> list[torch.Tensor]:
        """The state of each row after `<eos>`, or before it where the row begins with one."""
        first = ids[:, 0]
        if real is not None:
            first = ids.gather(1, real.int().argmax(1, keepdim=True)).squeeze(1)
        begun = self.network.begin(ids.shape[0])
        ends = torch.full_like(ids[:, :1], self.network.eos_id)
        _, ended = self.network.read(ends, begun)
        given = first == self.network.eos_id
        return [
            torch.where(given.view(-1, *[1] * (new.dim() - 1)), old, new)
            for old, new in zip(begun, ended, strict=True)
        ]

    def prepare_inputs_for_generation(
        self,
        input_ids: torch.Tensor,
        past_key_values: ElmanState | None = None,
        attention_mask: torch.Tensor | None = None,
        use_cache: bool | None = None,
        **ignored: Any,
    ) -> dict[str, Any]:
        """With a state, only the tokens after it are read."""
        if past_key_values is not None:
            input_ids = input_ids[:, past_key_values.get_seq_length() :]
        return {
            "input_ids": input_ids,
            "past_key_values": past_key_values,
            "attention_mask": attention_mask,
            "use_cache": use_cache,
        }


def _ends_in_padding(real: torch.Tensor) -> bool:
    """Whether padding comes only after the texts."""
    return bool((real[:, 1:] <= real[:, :-1]).all())


class ElmanOfWords(PreTrainedModel):
    """The common part of models over words and their characters."""

    config_class = ElmanConfig
    config: ElmanConfig
    main_input_name = "input_ids"

    def __init__(self, config: ElmanConfig) -> None:
        super().__init__(config)
        self.network = build(config.network)
        self.post_init()

    def _init_weights(self, module: torch.nn.Module) -> None:
        """Weights are always loaded."""

    def get_input_embeddings(self) -> Any:
        return getattr(self.network, "input", None)

    def _words(
        self, ids: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The ids, and which of them are words; padding has the id after the vocabulary."""
        real = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.bool()
        padding = ids >= self.network.vocabulary_size
        return ids.masked_fill(padding, 0), real & ~padding


class ElmanForSequenceClassification(ElmanOfWords):
    """A classifier of elman: the softmax (or sigmoids) of the logits are its probabilities."""

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        characters: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        return_dict: bool | None = None,
        **ignored: Any,
    ) -> Any:
        """Logits (B, K); `token_type_ids` (B, T): 1 for the words of the second text of a pair."""
        ids, real = self._words(input_ids, attention_mask)
        second = None if token_type_ids is None else token_type_ids.bool()
        parts = (
            [real] if self.network.texts == 1 or second is None else [real & second, real & ~second]
        )
        if not all(bool(part.any(1).all()) for part in parts):
            raise ValueError("a text has no words; leave it out")
        logits = self.network(ids, real, characters, second)
        loss = None
        if labels is not None and self.config.problem_type == "multi_label_classification":
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels.float())
        elif labels is not None:
            loss = torch.nn.functional.cross_entropy(logits, labels.view(-1))
        found = SequenceClassifierOutput(loss=loss, logits=logits)
        return found if return_dict is not False else found.to_tuple()


class ElmanForTokenClassification(ElmanOfWords):
    """A tagger of elman: the softmax of the logits are the probabilities of the tags."""

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        characters: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        return_dict: bool | None = None,
        **ignored: Any,
    ) -> Any:
        """Logits (B, T, K); the loss is that of each tag alone, also with a CRF."""
        ids, real = self._words(input_ids, attention_mask)
        if ids.shape[1]:
            logits = self.network(ids, real, characters)
        else:  # a text without words
            logits = self.network.scores.weight.new_zeros(*ids.shape, self.config.num_labels)
        loss = None
        if labels is not None:
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        found = TokenClassifierOutput(loss=loss, logits=logits)
        return found if return_dict is not False else found.to_tuple()


class ElmanModel(ElmanOfWords):
    """A bidirectional language model of elman (ELMo): hidden vectors of words."""

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        characters: torch.Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        **ignored: Any,
    ) -> Any:
        """`hidden_states`: every layer (B, T, size), that of the characters first."""
        if characters is None:
            raise ValueError(
                "this model reads characters: pass `characters`, as its tokenizer does"
            )
        _, real = self._words(input_ids, attention_mask)
        layers = self.network(real, characters).unbind(0)
        wanted = output_hidden_states
        if wanted is None:
            wanted = self.config.output_hidden_states
        states = layers if wanted else None
        found = BaseModelOutput(last_hidden_state=layers[-1], hidden_states=states)
        return found if return_dict is not False else found.to_tuple()
