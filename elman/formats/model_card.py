"""The model card of an exported run: what it is, what it was trained on, how to load it.

Takes a run, gives Markdown with the metadata that the Hugging Face hub reads. elman does not know
the licence of a text, so the card says `unknown` and asks for it.
"""

from __future__ import annotations

import json
from typing import Any

from elman.version import __version__

_LOAD = """\
```python
from transformers import AUTOMATIC, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(FOLDER, trust_remote_code=True)
model = AUTOMATIC.from_pretrained(FOLDER, trust_remote_code=True)
```
"""


_NEWLINE = (
    "A newline is a token: it ends a line and starts the next one (`<eos>` in elman). "
    "`<|endoftext|>` begins and pads texts; the model reads it as a newline and never predicts it."
)
_WORDS = (
    "The tokenizer splits text into words as elman does; its code is in this folder. "
    "Besides `input_ids` it gives the `characters` of the words to models that read them."
)


def model_card(run: Any, automatic: str) -> str:
    """The card as Markdown; `automatic`: the class of transformers that loads the model."""
    facts, config = run.facts, run.config
    data = facts.get("data", {})
    shown = {name: value for name, value in run.model.facts().items() if _is_short(value)}
    lines = [
        "---",
        "library_name: transformers",
        "license: unknown",
        "tags: [elman]",
        "---",
        "",
        f"# {run.folder.name or run.name}",
        "",
        f"A model of the kind `{config.kind}`, trained with elman {__version__} by the recipe "
        f"`{config.recipe}`. The modelling file needs torch and transformers only.",
        "",
        "## Load",
        "",
        _LOAD.replace("AUTOMATIC", automatic),
        _NEWLINE if hasattr(run, "tokenizer") else _WORDS,
        "",
        "## Data",
        "",
        f"- trained on: `{data.get('name', 'unknown')}`",
        *(f"- SHA-256 of `{name}`: `{sha}`" for name, sha in data.get("sha256", {}).items()),
        "- licence: unknown. The licence of the training text decides; replace `unknown` in this "
        "card.",
        "",
        "## Measures",
        "",
        *_measures(facts.get("validation")),
        "",
        "## Model",
        "",
        *(f"- {name}: {json.dumps(value)}" for name, value in shown.items()),
        "",
    ]
    return "\n".join(lines)


def _measures(validation: dict[str, Any] | None) -> list[str]:
    found = {name: value for name, value in (validation or {}).items() if value is not None}
    return [f"- {name} on validation: {value}" for name, value in found.items()] or ["- none"]


def _is_short(value: Any) -> bool:
    return isinstance(value, int | float | str) or (isinstance(value, list) and 0 < len(value) < 9)
