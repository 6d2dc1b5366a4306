"""Published ELMo weights, read and compared with the paper's equations in numpy."""

import json
import sys

import numpy as np
import pytest
from elmo_files import CHARACTER, CLIP, FILTERS, HIDDEN, OPTIONS, PROJECTION, WEIGHTS
from elmo_files import write_elmo as write

from elman.batches.sentences import SentenceReader
from elman.errors import InputError
from elman.tasks.embedding.published import import_elmo, read_elmo
from elman.text.word_list import WordList

h5py = pytest.importorskip("h5py")

TEXT = ["The naïve cat".split(), [("interminably" * 6)[:61]], "a b c d e .".split()]


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def word_vector(symbols: list[int]) -> np.ndarray:
    """By the paper: `symbols` as in the published code, before the mask was put below them."""
    symbols = [258, *symbols[:48], 259]
    vectors = WEIGHTS["char_embed"][symbols + [260] * (50 - len(symbols))].astype("f8")
    found = []
    for number, (width, _) in enumerate(FILTERS):
        matrix, bias = WEIGHTS[f"CNN/W_cnn_{number}"][0], WEIGHTS[f"CNN/b_cnn_{number}"]
        places = [
            sum(vectors[place + k] @ matrix[k] for k in range(width)) + bias
            for place in range(50 - width + 1)
        ]
        found.append(np.maximum(np.max(places, axis=0), 0))
    features = np.concatenate(found)
    for number in range(2):
        part = {name: WEIGHTS[f"CNN_high_{number}/{name}"] for name in
                ("W_carry", "b_carry", "W_transform", "b_transform")}  # fmt: skip
        carry = sigmoid(features @ part["W_carry"] + part["b_carry"])
        changed = np.maximum(features @ part["W_transform"] + part["b_transform"], 0)
        features = carry * changed + (1 - carry) * features
    return features @ WEIGHTS["CNN_proj/W_proj"] + WEIGHTS["CNN_proj/b_proj"]


State = tuple[np.ndarray, np.ndarray]
ZERO = (np.zeros(PROJECTION), np.zeros(HIDDEN))


def read(
    direction: int, layer: int, inputs: list[np.ndarray], state: State
) -> tuple[list[np.ndarray], State]:
    """One layer of LSTM over inputs in the order in which it reads them, and its last state."""
    place = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
    matrix, bias, projection = (WEIGHTS[f"{place}/{name}"] for name in ("W_0", "B", "W_P_0"))
    (hidden, memory), outputs = state, []
    for given in inputs:
        gates = np.concatenate([given, hidden]) @ matrix + bias
        write, candidate, forget, output = np.split(gates, 4)
        memory = sigmoid(forget + 1) * memory + sigmoid(write) * np.tanh(candidate)
        memory = np.clip(memory, -CLIP, CLIP)
        hidden = np.clip((sigmoid(output) * np.tanh(memory)) @ projection, -CLIP, CLIP)
        outputs.append(hidden)
    return outputs, (hidden, memory)


def reference(
    sentence: list[str], residual: bool = True, states: dict[tuple[int, int], State] | None = None
) -> np.ndarray:
    """All layers of a sentence, (3, T, 2 · PROJECTION).

    `states`: of each direction and layer, from an earlier sentence; replaced by those after it.
    """
    states = {} if states is None else states
    words = [word_vector([256]), *(word_vector([*word.encode()]) for word in sentence)]
    words.append(word_vector([257]))
    layers = [[np.concatenate([word, word]) for word in words]]
    sides: list[list[list[np.ndarray]]] = []
    for direction in range(2):
        inputs = words[::-1] if direction else words
        sides.append([])
        for layer in range(2):
            place = (direction, layer)
            outputs, states[place] = read(*place, inputs, states.get(place, ZERO))
            if layer and residual:
                outputs = [a + b for a, b in zip(outputs, inputs, strict=True)]
            sides[direction].append(outputs[::-1] if direction else outputs)
            inputs = outputs
    for layer in range(2):
        pairs = zip(sides[0][layer], sides[1][layer], strict=True)
        layers.append([np.concatenate(pair) for pair in pairs])
    return np.array(layers)[:, 1:-1]


@pytest.mark.parametrize("residual", [True, False])
def test_all_layers_are_those_of_the_paper(tmp_path, residual: bool) -> None:
    lstm = {**OPTIONS["lstm"], "use_skip_connections": residual}
    model = read_elmo(*write(tmp_path, options={**OPTIONS, "lstm": lstm}))
    layers = model.layers(SentenceReader(WordList.learn([])).read(TEXT)).detach().numpy()
    for row, sentence in enumerate(TEXT):
        expected = reference(sentence, residual)
        np.testing.assert_allclose(layers[:, row, : len(sentence)], expected, rtol=1e-6, atol=2e-6)
    assert (np.abs(reference(TEXT[2])[1]) == CLIP).any()  # or clipping would not be tested


@pytest.mark.parametrize("rows", [1, 2])
def test_states_carried_as_in_the_published_code(tmp_path, rows: int) -> None:
    """Each row of a batch continues where its row of the batch before stopped."""
    trained = import_elmo(*write(tmp_path))
    text = [*TEXT, ["a"], "The cat".split()]
    layers = trained.layers(text, carry_state=rows)
    states: list[dict[tuple[int, int], State]] = [{} for _ in range(rows)]
    for number, sentence in enumerate(text):
        expected = reference(sentence, states=states[number % rows])
        np.testing.assert_allclose(layers[number], expected, rtol=1e-6, atol=2e-6)
    assert not np.allclose(layers[-1], reference(text[-1]), atol=1e-3)


def test_no_projection_from_filters_of_the_same_number(tmp_path) -> None:
    weights = {name: array for name, array in WEIGHTS.items() if not name.startswith("CNN")}
    weights |= {"CNN/W_cnn_0": np.ones((1, 1, CHARACTER, PROJECTION)), "CNN/b_cnn_0": np.ones(7)}
    characters = {**OPTIONS["char_cnn"], "filters": [[1, PROJECTION]], "n_highway": 0}
    files = write(tmp_path, weights, {**OPTIONS, "char_cnn": characters})
    assert read_elmo(*files).config.filters == (PROJECTION,)


def test_it_cannot_score(tmp_path) -> None:
    model = read_elmo(*write(tmp_path))
    assert model.softmax is None
    assert not model.training


def test_a_missing_array_is_named(tmp_path) -> None:
    weights = {name: array for name, array in WEIGHTS.items() if name != "CNN/b_cnn_1"}
    with pytest.raises(InputError, match="CNN/b_cnn_1"):
        read_elmo(*write(tmp_path, weights))


def test_options_of_another_model_are_refused(tmp_path) -> None:
    lstm = {**OPTIONS["lstm"], "dim": HIDDEN + 1}
    with pytest.raises(InputError, match=r"W_0 .*options"):
        read_elmo(*write(tmp_path, options={**OPTIONS, "lstm": lstm}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("no JSON", "not the options"),
        ("[]", "not the options"),
        ("{}", "no 'lstm'"),
        (json.dumps({**OPTIONS, "char_cnn": {**OPTIONS["char_cnn"], "activation": "tanh"}}),
         "tanh"),
    ],
)  # fmt: skip
def test_wrong_options(tmp_path, options: str, message: str) -> None:
    files = write(tmp_path)
    files[0].write_text(options)
    with pytest.raises(InputError, match=message):
        read_elmo(*files)


def test_wrong_files(tmp_path) -> None:
    options, weights = write(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_elmo(tmp_path / "nothing.json", weights)
    weights.write_text("no HDF5")
    with pytest.raises(InputError, match="HDF5"):
        read_elmo(options, weights)


def test_without_h5py_it_says_what_to_install(tmp_path, monkeypatch) -> None:
    files = write(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InputError, match=r"pip install 'elman\[elmo\]'"):
        read_elmo(*files)
