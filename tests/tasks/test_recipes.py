"""Recipes: shipped ones and files, with overrides, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elman.errors import InputError
from elman.recipes import config_from_data, load_recipe, recipe_names, saved_config


@pytest.mark.parametrize("name", list(recipe_names()))
def test_every_shipped_recipe_loads_and_comes_back_from_its_data(name: str) -> None:
    config = load_recipe(name, seed=7)
    assert (config.recipe, config.seed) == (name, 7)
    assert config_from_data(json.loads(json.dumps(config.to_data()))) == config
    assert recipe_names()[name]


def test_overrides_change_a_recipe() -> None:
    config = load_recipe("ngram", ["model.order=3", "text.tokenizer=bpe"])
    assert config.model.order == 3
    assert config.text.tokenizer == "bpe"
    assert config.model.smoothing == load_recipe("ngram").model.smoothing


def test_options_go_with_what_they_are_of() -> None:
    assert load_recipe("mikolov").model.output_options == {"samples": 1000}
    assert load_recipe("mikolov", ["model.output=full"]).model.output_options == {}
    given = ["model.output_options.samples=7", "model.output=nce"]
    assert load_recipe("mikolov", given).model.output_options == {"samples": 7}
    assert load_recipe("translator").model.output_options == {"smoothing": 0.1}
    assert load_recipe("translator", ["model.copy=true"]).model.output_options == {}
    assert load_recipe("rhn", ["model.cell=gru"]).model.options == {}
    assert load_recipe("laplace").model.options == {"delta": 1.0}
    assert load_recipe("laplace", ["model.smoothing=katz"]).model.options == {}
    given = ["model.smoothing=stupid-backoff", "model.options.backoff=1"]
    assert load_recipe("laplace", given).model.options == {"backoff": 1.0}


@pytest.mark.parametrize(
    ("smoothing", "options"),
    [
        ("add-delta", {"delta": 0.25}),
        ("stupid-backoff", {"backoff": 0.5}),
        ("katz", {}),
        ("imported", {}),
    ],
)
def test_runs_older_than_the_options_of_smoothers_are_read(
    smoothing: str, options: dict[str, float]
) -> None:
    data = load_recipe("ngram").to_data()
    del data["model"]["options"]
    data["model"] |= {"smoothing": smoothing, "delta": 0.25, "backoff": 0.5}
    config = saved_config(data)
    assert (config.model.smoothing, config.model.options) == (smoothing, options)
    assert saved_config(config.to_data()) == config


def test_a_file_is_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('about = "mine"\n[model]\norder = 2\n')
    config = load_recipe(str(path))
    assert (config.kind, config.model.order, config.recipe) == ("ngram", 2, str(path))


@pytest.mark.parametrize("recipe", ["ngam", "", "x" * 5000, ".", "no/such.toml"])
def test_an_unknown_recipe_is_named(recipe: str) -> None:
    with pytest.raises(InputError, match=f"unknown recipe '{recipe}'; (did you mean|known)"):
        load_recipe(recipe)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("modle.order=3", "unknown section 'modle'; did you mean 'model'"),
        ("order=3", "unknown section 'order'"),
        ("model.ordr=3", r"unknown setting model\.ordr; did you mean 'order'"),
        ("model.order=x", r"model\.order='x': expected a whole number"),
        ("model.order=0", r"model\.order=0: choose from 1 to 20"),
        ("model.smoothing=kneser", "unknown smoothing 'kneser'"),
        ("model.delta=1", r"unknown setting model\.delta; it is now model\.options\.delta$"),
        ("model.backoff=1", r"unknown setting model\.backoff; it is now model\.options\.backoff$"),
        (
            "model.options.delta=1",
            "option 'delta' of the smoothing 'modified-kneser-ney'",
        ),
        ("model.kind=ngrm", "unknown model 'ngrm'; did you mean 'ngram'"),
        ("model.kind=3", "unknown model '3'; known: answerer, bidirectional, classifier"),
        ("model=3", "model=3: is a section"),
        ("text=x", "text='x': is a section"),
        ("seed=x", "seed='x': expected a whole number"),
        ("text.vocabulary_size=2", r"text\.vocabulary_size=2: must be at least 3"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(override: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_recipe("ngram", [override])


def test_a_recipe_file_whose_section_is_a_value(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("model = 3\n")
    with pytest.raises(InputError, match="model=3: is a section"):
        load_recipe(str(path))


def test_settings_for_fine_tuning_apply_to_a_start_from_a_language_model(tmp_path: Path) -> None:
    recipe = tmp_path / "own.toml"
    recipe.write_text(
        '[model]\nkind = "classifier"\npooling = "max"\n[training]\nepochs = 3\n'
        '[fine_tuning.model]\npooling = "concat"\nhidden_size = 5\n'
        "[fine_tuning.training]\nunfreeze = 2.0\n"
    )
    scratch = load_recipe(str(recipe))
    assert (scratch.model.pooling, scratch.training.unfreeze) == ("max", 0)
    begin_with = {"model": {"hidden_size": 7}}
    tuned = load_recipe(str(recipe), begin_with=begin_with)
    assert (tuned.model.pooling, tuned.training.unfreeze, tuned.training.epochs) == ("concat", 2, 3)
    assert tuned.model.hidden_size == 7  # the language model decides
    given = ["model.hidden_size=9", "model.pooling=last", "training.unfreeze=0"]
    own = load_recipe(str(recipe), given, begin_with=begin_with)
    assert (own.model.hidden_size, own.model.pooling, own.training.unfreeze) == (9, "last", 0)


@pytest.mark.parametrize("name", list(recipe_names()))
def test_the_settings_of_shipped_recipes_for_fine_tuning_are_valid(name: str) -> None:
    assert load_recipe(name, begin_with={})


def test_settings_for_fine_tuning_are_in_sections(tmp_path: Path) -> None:
    recipe = tmp_path / "own.toml"
    recipe.write_text('[model]\nkind = "classifier"\n[fine_tuning]\nunfreeze = 1\n')
    with pytest.raises(InputError, match=r"in sections like \[fine_tuning.training\]"):
        load_recipe(str(recipe), begin_with={})
