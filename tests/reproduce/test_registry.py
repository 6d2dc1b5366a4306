"""The shipped tables: every figure of the decks is there, and every recipe can be built."""

from pathlib import Path

import pytest

from elman.adapters import ADAPTERS
from elman.cells import CELLS
from elman.config import apply_overrides, build
from elman.errors import InputError
from elman.experiments.reproduce.experiments import EXPERIMENTS
from elman.experiments.reproduce.registry import (
    PublishedRow,
    fill_in,
    read_tables,
    references,
    resolve,
)
from elman.experiments.reproduce.shipped import read_shipped
from elman.experiments.reproduce.status import statuses
from elman.recipes import load_recipe

TABLES = read_tables()
ROWS = [(table, row) for table in TABLES.values() for row in table.rows]
# Copied from the decks by hand, line by line; a second pair of eyes on the TOML files.
PTB = {
    "kn5": 141.2,
    "kn5-cache": 125.7,
    "feed-forward": 140.2,
    "log-bilinear": 144.5,
    "syntactical": 131.3,
    "recurrent": 124.7,
    "rnn-lda": 113.7,
}
PTB_NEURAL = {  # parameters, valid, test
    "rnn-lda-kn5-cache": ("9M", None, 92.0),
    "zaremba-medium": ("20M", 86.2, 82.7),
    "variational-mc": ("20M", None, 78.6),
    "char-cnn": ("19M", None, 78.9),
    "pointer-sentinel": ("21M", 72.4, 70.9),
    "continuous-cache": ("", None, 72.1),
    "tied-augmented": ("24M", 75.7, 73.2),
    "rhn": ("23M", 67.9, 65.4),
    "nas": ("25M", None, 64.0),
    "melis": ("24M", 60.9, 58.3),
    "awd-lstm": ("24M", 60.7, 58.8),
    "awd-lstm-finetuned": ("24M", 60.0, 57.3),
    "mos": ("22M", 58.08, 55.97),
    "mos-finetuned": ("22M", 56.54, 54.44),
    "awd-lstm-cache": ("24M", 53.9, 52.8),
    "awd-lstm-dynamic": ("24M", 51.6, 51.1),
    "mos-dynamic": ("22M", 48.33, 47.69),
}
LM1B = [67.6, 51.3, 68.3, 52.9, 43.7, 30.0, 43.9, 39.8]
CELL_ROWS = {  # arithmetic, XML, Penn Treebank; 5M test, 10M valid, 20M valid, 20M test, perplexity
    "tanh": (0.29493, 0.32050, 0.08782, 4.811, 4.729, 4.635, 4.582, 97.7),
    "lstm": (0.89228, 0.42470, 0.08912, 4.699, 4.511, 4.437, 4.399, 81.4),
    "lstm-f": (0.29292, 0.23356, 0.08808, 4.785, 4.752, 4.658, 4.606, 100.8),
    "lstm-i": (0.75109, 0.41371, 0.08662, 4.755, 4.558, 4.480, 4.444, 85.1),
    "lstm-o": (0.86747, 0.42117, 0.08933, 4.708, 4.496, 4.447, 4.411, 82.3),
    "lstm-b": (0.90163, 0.44434, 0.08952, 4.698, 4.437, 4.423, 4.380, 79.83),
    "gru": (0.89565, 0.45963, 0.09069, 4.684, 4.554, 4.559, 4.519, 91.7),
    "mut1": (0.92135, 0.47483, 0.08968, 4.699, 4.605, 4.594, 4.550, 94.6),
    "mut2": (0.89735, 0.47324, 0.09036, 4.707, 4.539, 4.538, 4.503, 90.2),
    "mut3": (0.90728, 0.46478, 0.09161, 4.692, 4.523, 4.530, 4.494, 89.47),
}
ELMO = {  # previous best, baseline, with ELMo, ±, increase, relative
    "squad": (84.4, 81.1, 85.8, None, 4.7, 24.9),
    "snli": (88.6, 88.0, 88.7, 0.17, 0.7, 5.8),
    "srl": (81.7, 81.4, 84.6, None, 3.2, 17.2),
    "coref": (67.2, 67.2, 70.4, None, 3.2, 9.8),
    "ner": (91.93, 90.15, 92.22, 0.10, 2.06, 21.0),
    "sst-5": (53.7, 51.4, 54.7, 0.5, 3.3, 6.8),
}


def test_penn_treebank() -> None:
    assert {row.name: row.published for row in TABLES["ptb"].rows if not row.ours} == PTB
    rows = [row for row in TABLES["ptb-neural"].rows if not row.ours]
    assert {r.name: (r.parameters, r.valid, r.published) for r in rows} == PTB_NEURAL


def test_rows_of_ours_stand_beside_the_published_ones() -> None:
    for table, row in ROWS:
        if row.name.endswith("-ours"):
            published = table.row(row.name.removesuffix("-ours"))
            assert row.ours
            assert not published.ours
            assert row.published == published.published
            assert (row.recipe, row.settings, row.adapters) != (
                published.recipe,
                published.settings,
                published.adapters,
            )


def test_published_networks_have_the_published_settings() -> None:
    """Settings of the publications, compared with the recipe files."""
    recurrent = load_recipe("mikolov-2011")
    assert (recurrent.model.hidden_size, recurrent.model.tied) == (200, False)
    assert recurrent.model.options == {"activation": "sigmoid"}
    for recipe in ("mikolov-2011", "rnn-lda-2012", "bengio-2003", "log-bilinear-2007"):
        config = load_recipe(recipe)
        settings = vars(config.model)
        assert not any(value for name, value in settings.items() if "dropout" in name)
        assert (config.training.optimizer, config.training.schedule) == ("sgd", "halving")
        assert config.training.learning_rate / config.training.batch_size == pytest.approx(0.1)
    topics = load_recipe("rnn-lda-2012").model
    assert (topics.topics, topics.topic_words) == (40, 50)
    small = load_recipe("zaremba-small")
    assert (small.model.init, small.model.init_scale) == ("uniform", 0.1)
    assert (small.training.window, small.training.epochs, small.training.hold) == (20, 13, 4)
    melis = TABLES["ptb-neural"].row("melis")
    config = load_recipe(melis.recipe, melis.settings)
    assert (config.model.num_layers, config.model.hidden_size) == (4, 723)


def test_every_row_has_a_cost_or_a_reason() -> None:
    shipped = read_shipped()
    for status in statuses(TABLES, TABLES.values(), shipped):
        name = f"{status.table.name}/{status.row.name}"
        if status.row.quoted:
            assert status.cost or status.row.cost.startswith("no cost: "), name
        else:
            assert status.cost is not None, name
            assert status.cost.teraflop or status.cost.seconds, name


def test_one_billion_words() -> None:
    assert [row.published for row in TABLES["lm1b"].rows] == LM1B


def test_cells() -> None:
    ablation, mut = TABLES["ablation"], TABLES["mut"]
    assert len(ablation.rows) == 2 * len(CELL_ROWS)
    assert len(mut.rows) == 3 * len(CELL_ROWS)
    for name, figures in CELL_ROWS.items():
        first, xml = ablation.row(name), ablation.row(f"{name}-xml")
        five, ten, twenty = (mut.row(f"{name}-{size}m") for size in (5, 10, 20))
        assert first.also is not None
        assert twenty.also is not None
        found = (first.published, xml.published, first.also["ptb"], five.published, ten.published)
        assert (*found, twenty.valid, twenty.published, twenty.also["perplexity"]) == figures
        assert ten.split == "valid"
        assert first.cell == xml.cell
        assert f"model.cell={first.cell}" in five.settings


def test_elmo() -> None:
    assert {row.name for row in TABLES["elmo"].rows} == set(ELMO)
    for name, figures in ELMO.items():
        row = TABLES["elmo"].row(name)
        also = row.also or {}
        before = (also["previous"], also["baseline"], row.published, row.spread)
        assert (*before, also["increase"], also["relative"]) == figures
    assert (TABLES["elmo"].row("ner").also or {})["previous_spread"] == 0.19


def test_attention() -> None:
    published = {
        "rnnsearch-50": 26.75,
        "rnnsearch-30": 21.5,
        "rnnenc-50": 17.82,
        "rnnenc-30": 13.93,
    }
    for name in ("attention", "attention-reverse"):
        rows = [row for row in TABLES[name].rows if not row.ours]
        assert {row.name: row.published for row in rows} == published


def test_models_of_one_billion_words_at_a_smaller_size() -> None:
    published = {row.name: row.published for row in TABLES["lm1b"].rows}
    for row in TABLES["lm1b-scaled"].rows:
        assert row.published == published[row.name]
        assert row.order


@pytest.mark.parametrize(("table", "row"), ROWS, ids=lambda thing: thing.name)
def test_every_row_can_be_built(table, row) -> None:
    if row.recipe:
        load_recipe(row.recipe, row.settings)
    if row.experiment:
        assert row.experiment in EXPERIMENTS
        assert row.cell in CELLS
    for written in row.adapters:
        run_of = dict.fromkeys(references(written), "folder")
        name, _, settings = fill_in(written, run_of).partition(":")
        words = [word for word in settings.split(",") if word]
        build(ADAPTERS.choose(name).Config, apply_overrides({}, words), name)


def test_the_largest_settings_fit_together() -> None:
    """Options of an output are kept when the output is not changed."""
    row = TABLES["lm1b"].row("rnn-maxent")
    config = load_recipe(row.recipe, row.settings)
    assert config.model.output_options["order"] == 9


def test_references() -> None:
    assert references("mix:run={ptb/kn5}") == ["ptb/kn5"]
    assert fill_in("mix:run={kn5},weight=0.5", {"kn5": "runs/a"}) == "mix:run=runs/a,weight=0.5"
    table, row = resolve(TABLES, TABLES["ours"], "ptb/kn5")
    assert (table.name, row.name) == ("ptb", "kn5")


HEAD = 'title = "t"\nsource = "s"\nmetric = "perplexity"\n'


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("title = ", "not a TOML file"),
        (HEAD.replace("perplexity", "perplex"), "did you mean 'perplexity'"),
        (HEAD + '[rows.a]\nrecipe = "ngram"\nquoted = "no"', "recipe and quoted"),
        (HEAD + "[rows.a]\npublished = 1.0", "has none"),
        (HEAD + '[rows.a]\nquoted = "no"', "neither"),
        (HEAD + '[rows.a]\npublished = 1.0\nquoted = "no"', "needs `cost`"),
        (HEAD + '[rows.a]\nrecipe = "ngram"\nseeds = 0', "seeds=0 must be at least 1"),
        (HEAD + '[rows.a]\nrecipe = "ngram"\nvalue = -1.0', "must not be negative"),
        (HEAD + '[rows.a]\nrecipe = "ngram"\nstarts_from = "b"', "unknown row of bad"),
        (HEAD + '[rows.a]\nrecipe = "ngram"\ntolerance = 2', "tolerance"),
        (HEAD + '[rows.a]\nrecipe = "ngram"\npublihsed = 2', "did you mean 'published'"),
        (HEAD + '[rows.a]\nexperiment = "ablation"\npublished = 1', "task and cell"),
        (HEAD + '[rows.a]\nrecipe = "ngram"\nadapters = ["mix:run={b}"]', "unknown row of bad"),
        (HEAD + '[rows.a]\nrecipe = "ngram"\nadapters = ["mix:run={b/c}"]', "unknown table"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, culprit: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(InputError, match=culprit):
        read_tables(tmp_path)


def test_a_row_is_found_by_its_name() -> None:
    with pytest.raises(InputError, match="did you mean 'kn5'"):
        TABLES["ptb"].row("kn55")
    assert PublishedRow(name="a", recipe="ngram").trial == ""
