"""The table of models and adapters that have to keep the contract.

A model joins by being registered in MODELS (it is fitted with its default settings, and with those
listed in VARIANTS; the encoder–decoder, whose source is always the same here, with those in
`translators.py`), an adapter by being registered in ADAPTERS (with its default settings, or with
those in ADAPTER_SETTINGS).
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import tiny_transformers
import torch
import translators

from elman.adapters import ADAPTERS, FitContext, adapt
from elman.cells import CELLS
from elman.counts.smoothers import SMOOTHERS
from elman.errors import InputError
from elman.layers.inputs import INPUTS
from elman.layers.outputs import OUTPUTS
from elman.models import MODELS
from elman.models.contract import LanguageModel
from elman.models.neural import NeuralModel

SIZE, EOS = 9, 0
TRANSLATOR = "encoder-decoder"  # is given a source, so it is built elsewhere
TEXT = np.random.default_rng(5).integers(0, SIZE - 1, 400)  # the last word never occurs
WORDS = ["a", "be", "see", "seed", "tree", "é", "über", "antidisestablish", ""]

SMALL_FILTERS = {"widths": (1, 3, 9), "filters": (2, 3, 4), "highways": 2, "longest": 8}
INPUT_OPTIONS = {"characters": SMALL_FILTERS}

VARIANTS = {
    "ngram": [
        *({"smoothing": name, "order": 3} for name in SMOOTHERS),
        *({"smoothing": name, "order": 4, "context": "stream"} for name in SMOOTHERS),
        {"order": 1},
        {"order": 2},
        {"order": 4, "cutoffs": (1, 1, 2, 3)},
        {"order": 3, "smoothing": "katz", "cutoffs": (1, 2)},
        {"order": 3, "smoothing": "stupid-backoff", "cutoffs": (1, 2)},
    ],
    "snm": [
        {"context": "stream", "steps": 3},
        {"order": 1, "skip": 0, "steps": 1},
        {"order": 2, "skip": 3, "skip_words": 3, "steps": 5},
        {"order": 4, "skip": 0, "prior": 0.0},
    ],
    "recurrent": [
        *({"cell": name} for name in CELLS),
        {"cell": "elman", "options": {"activation": "sigmoid"}, "tied": False},
        {"cell": "gru", "hidden_size": 7},
        {"cell": "torch-gru", "num_layers": 2, "tied": False},
        {"cell": "lstm", "num_layers": 3, "hidden_size": (9, 7, 5), "layer_norm": True},
        {"cell": "lstm", "num_layers": 2, "connection": "residual", "zoneout": 0.2},
        {"cell": "gru", "num_layers": 2, "connection": "dense"},
        {"cell": "elman", "num_layers": 2, "connection": "highway"},
        {"cell": "highway", "options": {"depth": 3}},
        {"cell": "min-gru", "num_layers": 2},
        {"cell": "lstm", "num_layers": 2, "context": "line"},
        {"cell": "lstm", "output": "sampled", "output_options": {"samples": 4}},
        {"cell": "lstm", "output": "sampled", "output_options": {"samples": 4}, "tied": False},
        *({"cell": "lstm", "output": name, "tied": False} for name in OUTPUTS),
        *({"cell": "gru", "output": name} for name in OUTPUTS if OUTPUTS[name].can_be_tied),
        *({"output": name, "tied": False, "context": "line"} for name in ("maxent", "pointer")),
        {"output": "pointer", "output_options": {"pointer_window": 3}, "hidden_size": 4},
        {"output": "maxent", "output_options": {"order": 5, "features": 50}},
        *(
            {"output": name, "output_options": {"order": order, "samples": 4}, "context": context}
            for name in ("ngram-residual", "ngram-mixture")
            for order, context in ((2, "stream"), (4, "line"))
        ),
        *(
            {"input": name, "tied": False, "input_options": INPUT_OPTIONS.get(name, {})}
            for name in INPUTS
        ),
        {
            "input": "characters",
            "input_options": SMALL_FILTERS,
            "tied": False,
            "output": "mixture",
            "hidden_size": 4,
        },
        {"topics": 3, "topic_words": 4},
        {"topics": 2, "tied": False, "context": "line"},
        {"cell": "lstm", "dropout_words": 0.5, "dropout_output": 0.5, "weight_drop": 0.5},
    ],
    "feed-forward": [
        {"order": 2},
        {"order": 4, "hidden_size": 6, "direct": True, "dropout": 0.5},
        {"order": 3, "hidden_size": 6, "tied": True},
        {"order": 20, "output": "sampled", "output_options": {"samples": 4}},
        {"order": 4, "hidden_size": 6, "context": "line"},
    ],
    "log-bilinear": [
        {"order": 2},
        {"order": 4, "diagonal": True},
        {"order": 4, "diagonal": True, "tied": False},
        {"order": 4, "context": "line"},
    ],
}
VARIANTS[TRANSLATOR] = translators.VARIANTS
# Small, and with weights so large that each word makes a difference.
NEURAL = {"embedding_size": 6, "init": "normal", "init_scale": 0.7}
ADAPTER_SETTINGS = {
    "cache": ["cache:weight=0.3,window=4", "cache:weight=0.2,window=50,decay=0"],
    "continuous-cache": [
        "continuous-cache:theta=0.5,weight=0.3,window=4",
        "continuous-cache:theta=0,weight=0.2,window=50",
    ],
    "documents": ["documents", "documents:lines=2", "documents:mark=see"],
    "dynamic": [
        "dynamic:rule=sgd,segment=3,rate=0.5",
        "dynamic:segment=1,rate=0.001,decay=0.1,batches=3",
        "dynamic:segment=20",
        "dynamic:segment=2,decay_every=3,sparse=0.05,rate=0.001,decay=0.1,batches=3",
    ],
    "mix": ["mix:run=other,weight=0.4"],
    "monte-carlo": ["monte-carlo:samples=3"],
    "temperature": ["temperature:value=0.7"],
}
DROPPING = {"dropout_input": 0.5, "dropout_output": 0.4, "dropout_words": 0.2}
BASES = [
    ("ngram", {"order": 3}),
    ("snm", {"order": 3, "skip": 1, "steps": 3}),
    ("recurrent", {"cell": "gru", **DROPPING, "weight_drop": 0.3}),
    ("recurrent", {"cell": "lstm", "context": "line", "locked": False, **DROPPING, "zoneout": 0.2}),
    ("feed-forward", {"order": 3, "hidden_size": 6, "dropout": 0.5}),
    (TRANSLATOR, translators.BASE),
]


COUNTED = [kind for kind in MODELS if MODELS[kind].task == "counting"]
LANGUAGE_MODELS = [
    kind for kind in MODELS if MODELS[kind].task in ("counting", "language-modelling")
]


def fit(kind: str, settings: dict[str, object]) -> LanguageModel:
    if kind in COUNTED:
        cls = MODELS.choose(kind)
        return cls.fit(TEXT, cls.config_class(**settings), vocabulary_size=SIZE, eos_id=EOS)
    return build(kind, settings).double().requires_grad_(False)


def build(kind: str, settings: dict[str, object]) -> NeuralModel:
    """A neural model as it comes out of a training: with the precision and the weights it has."""
    sizes = {"hidden_size": 6} if kind in ("recurrent", TRANSLATOR) else {}
    torch.manual_seed(3)
    if kind == TRANSLATOR:
        return translators.build_translator(
            {**NEURAL, **sizes, **settings}, TEXT, WORDS, EOS
        ).eval()
    cls = MODELS.choose(kind)
    config = cls.config_class(**({**NEURAL, **sizes, **settings} if settings else {}))
    model = cls.build(config, TEXT, WORDS, EOS)
    return model.eval()


def around() -> FitContext:
    other = fit("ngram", {"order": 2, "smoothing": "witten-bell"})
    return FitContext(lambda model: np.zeros(1), lambda path: other, lambda: TEXT, WORDS.index, EOS)


def name_of(kind: str, settings: dict[str, object]) -> str:
    return "-".join([kind, *(str(value) for value in settings.values())])


KINDS: dict[str, tuple[str, dict[str, object]]] = {
    name_of(kind, settings): (kind, settings)
    for kind in [*LANGUAGE_MODELS, TRANSLATOR]
    for settings in [{}, *VARIANTS.get(kind, [])]
}


def goes_around(kind: str, written: str) -> bool:
    """Whether adapters go around a kind of model; a neural one none may refuse."""
    if kind not in COUNTED:
        return True
    try:
        adapt(fit(kind, {"order": 2}), written.split("+"), around())
    except InputError as refused:
        if "neural run" not in str(refused):
            raise
        return False
    return True


ADAPTED: dict[str, Callable[[], LanguageModel]] = {
    f"{name_of(kind, settings)}-{written}": lambda kind=kind, settings=settings, written=written: (
        adapt(fit(kind, settings), written.split("+"), around())
    )
    for written in [
        *(written for name in ADAPTERS for written in ADAPTER_SETTINGS.get(name, [name])),
        "dynamic:segment=4+continuous-cache:theta=1,weight=0.3+mix:run=other,weight=0.5",
        "cache:weight=0.2+monte-carlo:samples=2+temperature:value=2+documents",
    ]
    for kind, settings in BASES
    if goes_around(kind, written)
}
CAUSAL = {  # with windows of 8 tokens, so that the texts of the checks fill them
    f"causal-{name}": partial(tiny_transformers.make_causal, name, SIZE, 8)
    for name in tiny_transformers.ARCHITECTURES
    if tiny_transformers.INSTALLED
}
CAUSAL |= {
    f"{name}-{written}": lambda build=build, written=written: adapt(build(), [written], around())
    for name, build in CAUSAL.items()
    for written in ("mix:run=other,weight=0.4", "cache:weight=0.3,window=4")
}
ALL = {name: partial(fit, *chosen) for name, chosen in KINDS.items()} | ADAPTED | CAUSAL


@pytest.fixture(scope="module", params=ALL)
def model(request: pytest.FixtureRequest) -> LanguageModel:
    """In double precision, so that two ways to one number can be compared.

    All checks share it: a model that a check could change would not keep the contract.
    """
    return ALL[request.param]()


@pytest.fixture(params=KINDS)
def trained_model(request: pytest.FixtureRequest) -> LanguageModel:
    """As it comes out of a training."""
    kind, settings = KINDS[request.param]
    return fit(kind, settings) if kind in COUNTED else build(kind, settings)
