"""Vectors of a text from any run, vector files, and nearest neighbours."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from small_elmo import LINES, small_elmo, small_tagger

import elman
from elman.errors import InputError
from elman.formats.vectors import write_vectors
from elman.tasks.embed import find_neighbours
from elman.tasks.vectors import Embedder, Line, embed_lines, embedder_of

pytestmark = pytest.mark.usefixtures("without_curves")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, without_curves: None) -> Path:
    """Runs: elmo, a tagger with it, a language model, an n-gram model."""
    folder = tmp_path_factory.mktemp("runs")
    small_elmo(folder)
    small_tagger(folder / "tagged", f"model.elmo={folder / 'elmo'}", out=folder / "tagger")
    small_tagger(folder / "tagged", out=folder / "plain")
    sizes = [
        "model.hidden_size=7",
        "model.embedding_size=7",
        "training.epochs=1",
        "training.batch_size=2",
    ]
    elman.train("quick", data=str(folder), out=folder / "words", overrides=sizes)
    elman.train("ngram", data=str(folder), out=folder / "ngram")
    return folder


def test_every_layer_of_a_bidirectional_model(runs: Path) -> None:
    embedder = embedder_of(elman.load(runs / "elmo"), str(runs / "elmo"))
    lines = embedder.embed([*LINES, "", "one"])
    assert lines[0].words == tuple(LINES[0].split())
    assert [line.layers.shape for line in lines[-2:]] == [(3, 0, 12), (3, 1, 12)]
    expected = elman.load(runs / "elmo").layers([LINES[1].split()])[0]
    np.testing.assert_allclose(lines[1].layers, expected, atol=1e-6)


def test_layers_by_name(runs: Path) -> None:
    embedder = embedder_of(elman.load(runs / "elmo"), str(runs / "elmo"))
    (line,) = embedder.embed(LINES[:1])
    for layer in range(3):
        chosen = embedder.choose(str(layer), line.layers)
        np.testing.assert_array_equal(chosen, line.layers[layer : layer + 1])
    np.testing.assert_array_equal(embedder.choose("all", line.layers), line.layers)
    mixed = embedder.choose("mix", line.layers)
    np.testing.assert_allclose(mixed, line.layers.mean(0)[None], rtol=1e-6)
    for wrong in ("3", "-1", "top", "1.0"):
        with pytest.raises(InputError, match="from 0 to 2"):
            embedder.choose(wrong, line.layers)


def test_a_task_has_learned_its_mix(runs: Path) -> None:
    embedder, trained = (
        embedder_of(elman.load(runs / "tagger"), str(runs / "tagger")),
        elman.load(runs / "tagger"),
    )
    (line,) = embedder.embed(LINES[:1])
    contextual = trained.model.encoder.contextual
    expected = contextual(trained.task.reader.read([LINES[0].split()]))[0][0].detach().numpy()
    np.testing.assert_allclose(embedder.choose("mix", line.layers)[0], expected, atol=1e-6)
    assert not np.allclose(expected, line.layers.mean(0), atol=1e-4)
    frozen = embedder_of(elman.load(runs / "elmo"), str(runs / "elmo")).embed(LINES[:1])[0].layers
    np.testing.assert_allclose(line.layers, frozen, atol=1e-6)


def test_hidden_vectors_of_a_language_model(runs: Path) -> None:
    embedder, trained = (
        embedder_of(elman.load(runs / "words"), str(runs / "words")),
        elman.load(runs / "words"),
    )
    lines = embedder.embed([LINES[0], "", "the zebra"])
    assert lines[2].words == ("the", "zebra")
    assert [line.layers.shape for line in lines] == [(1, 7, 7), (1, 0, 7), (1, 2, 7)]
    model, tokenizer = trained.model, trained.tokenizer
    ids = torch.tensor(tokenizer.encode(LINES[0]))[None]
    state = model.start(1)
    for place in range(ids.shape[1]):
        state = model.read(ids[:, place : place + 1], state)
        vector = model.vector(state)[0].detach().numpy()
        np.testing.assert_allclose(lines[0].layers[0, place], vector, atol=1e-6)
    row = model.input.table[tokenizer.encode("cat")[0]].detach().numpy()
    np.testing.assert_allclose(embedder.type_vectors(["the", "cat"])[1], row, atol=1e-7)


def test_runs_without_vectors(runs: Path) -> None:
    with pytest.raises(InputError, match="an n-gram model has no word vectors"):
        embedder_of(elman.load(runs / "ngram"), str(runs / "ngram"))
    with pytest.raises(InputError, match=r"model\.elmo=RUN"):
        embedder_of(elman.load(runs / "plain"), str(runs / "plain"))


def test_vectors_in_a_file(runs: Path, tmp_path: Path) -> None:
    lines = embed_lines(
        embedder_of(elman.load(runs / "elmo"), str(runs / "elmo")), [LINES[0], "", "é"], "all"
    )
    pairs = [(line.words, line.layers) for line in lines]
    write_vectors(tmp_path / "some.safetensors", pairs)
    with safe_open(tmp_path / "some.safetensors", "numpy") as file:
        assert json.loads(file.metadata()["words"]) == [LINES[0].split(), [], ["é"]]
        assert sorted(file.keys()) == ["line.1", "line.3"]
        np.testing.assert_array_equal(file.get_tensor("line.3"), lines[2].layers)
    with pytest.raises(InputError, match="cannot be written"):
        write_vectors(tmp_path / "nowhere" / "some.safetensors", pairs)


class Compass(Embedder):
    """Every word is an angle in degrees; in layer 1 it is turned by the word before it."""

    num_layers, size = 2, 2

    def embed(self, lines: list[str]) -> list[Line]:
        return [self._line(line.split()) for line in lines]

    def _line(self, words: list[str]) -> Line:
        angles = [int(word) for word in words]
        before = [0, *angles]
        layers = [angles, [b + a for b, a in zip(before, angles, strict=False)]]
        return Line(tuple(words), np.array([[_point(a) for a in layer] for layer in layers]))

    def type_vectors(self, words: list[str]) -> np.ndarray:
        return np.array([_point(int(word)) for word in words])


def _point(angle: int) -> tuple[float, float]:
    return 3 * np.cos(np.radians(angle)), 3 * np.sin(np.radians(angle))


TURNS = ["10 20 300", "5 20", "90 20", "15"]


def test_nearest_in_context() -> None:
    found = find_neighbours(Compass(), TURNS, "20", top=3)
    assert (found.query.line, found.query.position, found.query.text) == (1, 2, "10 20 300")
    # 20 after 10 is at 30; next come 20 after 5 (25), 15 alone (15) and 10 alone (10)
    assert [(one.line, one.position, one.word) for one in found.occurrences] == [
        (2, 2, "20"),
        (4, 1, "15"),
        (1, 1, "10"),
    ]
    assert found.occurrences[0].cosine == pytest.approx(np.cos(np.radians(5)))
    assert [one.word for one in found.types] == ["15", "10", "5"]
    assert found.types[0].cosine == pytest.approx(np.cos(np.radians(5)))


def test_nearest_of_the_same_word_and_of_a_place() -> None:
    found = find_neighbours(Compass(), TURNS, "20:3", same_word=True)
    assert (found.query.line, found.query.position) == (3, 2)
    assert [(one.line, one.word) for one in found.occurrences] == [(1, "20"), (2, "20")]


def test_nearest_in_another_layer() -> None:
    found = find_neighbours(Compass(), TURNS, "20", layer="0", top=2)
    assert [one.cosine for one in found.occurrences] == pytest.approx([1, 1])
    assert {one.word for one in found.occurrences} == {"20"}


def test_only_the_best_of_many_lines_are_kept() -> None:
    lines = ["40", *["200"] * 600, "41", *["200"] * 300, "42"]
    found = find_neighbours(Compass(), lines, "40", top=2)
    assert [(one.line, one.word) for one in found.occurrences] == [(602, "41"), (903, "42")]


def test_words_that_are_not_there() -> None:
    with pytest.raises(
        InputError, match="'21' is not in the text; choose a word that occurs there"
    ):
        find_neighbours(Compass(), TURNS, "21")
    with pytest.raises(InputError, match="'15' is not in line 2"):
        find_neighbours(Compass(), TURNS, "15:2")
    with pytest.raises(InputError, match="there is no line 9; the text has 4 lines"):
        find_neighbours(Compass(), TURNS, "15:9")
    with pytest.raises(InputError, match="choose one layer or mix"):
        find_neighbours(Compass(), TURNS, "15", layer="all")


def test_a_text_of_one_word() -> None:
    found = find_neighbours(Compass(), ["7"], "7")
    assert (found.occurrences, found.types) == ([], [])


def test_states_carried_from_line_to_line(runs: Path) -> None:
    """Off, a line gives the same vectors in any company; on, they depend on the lines before."""
    for run in ("elmo", "tagger"):
        embedder = embedder_of(elman.load(runs / run), run)
        alone = [embed_lines(embedder, [line])[0].layers for line in LINES]
        fresh = [line.layers for line in embed_lines(embedder, LINES)]
        carried = [line.layers for line in embed_lines(embedder, LINES, carry_state=1)]
        for one, other in zip(alone, fresh, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
        np.testing.assert_allclose(carried[0], alone[0], atol=1e-6)
        for one, other in zip(carried[1:], alone[1:], strict=True):
            np.testing.assert_allclose(one[0], other[0], atol=1e-6)  # characters have no context
            assert not np.allclose(one[1:], other[1:], atol=1e-4)


def test_states_carried_between_batches(runs: Path) -> None:
    """With batches of two lines, the odd lines are one text and the even lines another."""
    embedder = embedder_of(elman.load(runs / "elmo"), "elmo")
    lines, seen = [*LINES, "", "one more"], []
    both = embed_lines(embedder, [*lines, "last"], "all", lambda n, of: seen.append(n), 2)
    assert seen == [2, 2, 2, 1]
    for first in (0, 1):
        text = [*lines, "last"][first::2]
        expected = embed_lines(embedder, text, carry_state=1)
        for one, other in zip(both[first::2], expected, strict=True):
            assert one.words == other.words
            np.testing.assert_allclose(one.layers, other.layers, atol=1e-6)
    wide = embed_lines(embedder, lines, carry_state=1_000_000)  # one batch: nothing is carried
    for one, other in zip(wide, embed_lines(embedder, lines), strict=True):
        np.testing.assert_allclose(one.layers, other.layers, atol=1e-6)


def test_other_runs_carry_no_state(runs: Path) -> None:
    embedder = embedder_of(elman.load(runs / "words"), "words")
    with pytest.raises(InputError, match=r"^carry_state=1: only a bidirectional language model"):
        embed_lines(embedder, LINES, carry_state=1)
    with pytest.raises(InputError, match="carry_state=-1"):
        elman.load(runs / "elmo").layers([["a"]], carry_state=-1)
