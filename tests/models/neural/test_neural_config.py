"""Wrong settings of neural models are refused."""

from collections.abc import Callable

import pytest

from elman.errors import InputError
from elman.models.neural import NeuralModel

Make = Callable[..., NeuralModel]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("recurrent", {"bidirectional": True}, "may not see the words it predicts"),
        ("recurrent", {"cell": "lsmt"}, "unknown cell 'lsmt'; did you mean 'lstm'"),
        (
            "recurrent",
            {"activation_penalty": -1.0},
            "activation_penalty=-1.0: must not be negative",
        ),
        ("recurrent", {"temporal_penalty": -1.0}, "temporal_penalty=-1.0: must not be negative"),
        ("recurrent", {"hidden_size": 0}, "hidden_size=0: must be at least 1"),
        ("recurrent", {"connection": "residual"}, "must be equal"),
        ("recurrent", {"output": "ful"}, "unknown output 'ful'; did you mean 'full'"),
        ("recurrent", {"init": "xavier"}, "unknown init 'xavier'"),
        ("recurrent", {"init_scale": -0.1}, "init_scale=-0.1: must not be negative"),
        ("recurrent", {"init_scale": float("nan")}, "init_scale=nan: must not be negative"),
        ("recurrent", {"dropout_words": 1.0}, "dropout_words=1.0: must be from 0 to below 1"),
        ("recurrent", {"embedding_size": 0}, "embedding_size=0: must be at least 1"),
        ("recurrent", {"embedding_size": "many"}, "embedding_size='many': expected a whole number"),
        ("recurrent", {"context": "lines"}, "unknown context 'lines'; did you mean 'line'"),
        (
            "recurrent",
            {"output": "sampled", "output_options": {"samples": 1}},
            "samples=1: must be at least 2",
        ),
        ("feed-forward", {"order": 1}, "order=1: must be at least 2"),
        ("feed-forward", {"order": "4"}, "order='4': expected a whole number"),
        ("feed-forward", {"hidden_size": 0}, "hidden_size=0: must be at least 1"),
        ("feed-forward", {"dropout": -0.1}, "dropout=-0.1: must be from 0 to below 1"),
        ("feed-forward", {"direct": True, "tied": True}, "tied=false"),
        ("log-bilinear", {"order": 0}, "order=0: must be at least 2"),
        ("log-bilinear", {"dropout": 1.5}, "dropout=1.5: must be from 0 to below 1"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wrong_settings_are_refused_in_one_line(
    kind: str, settings: dict, message: str, make: Make
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(kind, **settings)
    assert "\n" not in str(caught.value)
