"""Tables that stay on disk: the same answers, little memory, and what is checked when."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elman
from elman.errors import ElmanError, InputError
from elman.models.ngram import NGram
from elman.runs import folder
from elman.runs.folder import read_run, update_run
from elman.runs.parts import MappedArrays, map_arrays, read_arrays
from elman.tasks.language_modelling.quantising import quantise
from elman.tasks.task import load

TEXT = "the cat sees a bird .\na dog likes the cat .\nthe bird hears a dog .\n" * 20


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "train.txt").write_text(TEXT)
    elman.train("ngram", data=str(tmp_path), out=tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture(params=["plain", "quantised"])
def mapped(request: Any, run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose tables are mapped however small they are."""
    place = run
    if request.param == "quantised":
        place = run.with_name("small")
        quantise(load(run), place)  # type: ignore[arg-type]
    monkeypatch.setattr(folder, "MAPPED_FROM", 0)
    return place


def test_the_arrays_are_those_of_the_file(run: Path) -> None:
    file = run / "weights.safetensors"
    read, found = read_arrays(file), map_arrays(file)
    assert read.keys() == found.keys()
    for name, array in read.items():
        assert array.dtype == found[name].dtype
        assert np.array_equal(array, found[name])
        assert not found[name].flags.writeable


def test_every_question_is_answered_as_before(mapped: Path, tmp_path: Path) -> None:
    disk, memory = load(mapped), load(mapped, verify=True)
    assert not disk.model.tables.tables[1].words.flags.writeable
    assert memory.model.tables.tables[1].words.flags.writeable
    text = "the cat likes a dog .\nbird the cat\n"
    for name, fields in {
        "surprisal": {"text": text},
        "score": {"text": text},
        "explain": {"text": text},
        "suggest": {"text": "the"},
        "distribution": {"prompt": "the cat"},
        "generate": {"prompt": "the", "seed": 1, "max_tokens": 9},
    }.items():
        answers = [json.dumps(one.ask(name, **fields).to_data()) for one in (disk, memory)]
        assert answers[0] == answers[1], name
    for number, model in enumerate((disk, memory)):
        model.export(tmp_path / f"{number}.arpa")
        model.save(tmp_path / f"copy-{number}")
    assert (tmp_path / "0.arpa").read_bytes() == (tmp_path / "1.arpa").read_bytes()
    weights = [tmp_path / f"copy-{number}" / "weights.safetensors" for number in range(2)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_a_mapped_run_may_be_overwritten_and_still_answers(mapped: Path) -> None:
    disk = load(mapped)
    before = disk.perplexity("the cat\n")
    elman.train("laplace", data=str(mapped.parent), out=mapped, overwrite=True)
    assert disk.perplexity("the cat\n") == before
    assert load(mapped).perplexity("the cat\n") != before


def damage(run: Path, place: int) -> None:
    file = run / "weights.safetensors"
    content = bytearray(file.read_bytes())
    content[place] ^= 255
    file.write_bytes(content)


def test_small_files_are_always_verified(run: Path) -> None:
    damage(run, -1)
    with pytest.raises(InputError, match="damaged: expected"):
        load(run)


def test_a_changed_number_is_found_when_asked(mapped: Path) -> None:
    damage(mapped, -1)
    load(mapped)
    with pytest.raises(InputError, match=r"damaged: expected .* SHA-256"):
        load(mapped, verify=True)


def test_another_size_or_header_is_refused_at_once(mapped: Path) -> None:
    file = mapped / "weights.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    with pytest.raises(InputError, match="weights.safetensors: cannot be parsed .the arrays end"):
        load(mapped)
    file.write_bytes(whole)
    damage(mapped, 9)
    with pytest.raises(InputError, match="cannot be parsed"):
        load(mapped)


def test_other_parts_and_other_kinds_are_verified_in_full(mapped: Path) -> None:
    (mapped / "facts.json").write_text((mapped / "facts.json").read_text() + " ")
    with pytest.raises(InputError, match="damaged"):
        load(mapped)
    found = read_run(mapped, ["weights.safetensors"])["weights.safetensors"]
    assert not isinstance(found, MappedArrays)


@pytest.mark.parametrize("name", ["starts", "words", "log_probs"])
@pytest.mark.parametrize("filler", ["lowest", "highest", "random"])
def test_nonsense_in_mapped_tables_causes_no_traceback(
    run: Path, monkeypatch: pytest.MonkeyPatch, name: str, filler: str
) -> None:
    arrays = dict(read_run(run, ["weights.safetensors"])["weights.safetensors"])
    for order in (2, 3, 4):
        array = arrays[f"order{order}.{name}"]
        if array.dtype.kind == "f":
            made = {"lowest": -np.inf, "highest": 0.0}.get(filler, np.nan)
            made = np.full_like(array, made)
        else:
            info = np.iinfo(array.dtype)
            bounds = {"lowest": (info.min, info.min + 1), "highest": (info.max - 1, info.max)}
            made = np.random.default_rng(order).integers(
                *bounds.get(filler, (info.min, info.max)), size=len(array), dtype=array.dtype
            )
        if name == "starts":  # the two ends are looked at when the run is loaded
            made[0], made[-1] = array[0], array[-1]
        arrays[f"order{order}.{name}"] = made
    update_run(run, {"weights.safetensors": arrays})
    monkeypatch.setattr(folder, "MAPPED_FROM", 0)
    model = load(run)
    assert isinstance(model.model, NGram)
    with np.errstate(all="ignore"):
        for question in ("surprisal", "explain", "score"):
            with contextlib.suppress(ElmanError):
                model.ask(question, text="the cat likes a dog .\n")
        with contextlib.suppress(ElmanError):
            model.suggest("the")
