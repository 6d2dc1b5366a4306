"""A model in one HTML file: the page predicts what elman predicts, in a real browser."""

import copy
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from browser import Watched, opened_browser
from tiny import sentences

from elman.cells import CELLS
from elman.errors import InputError
from elman.formats.page.step_program import OPERATIONS
from elman.formats.page.writer import embedded_json
from elman.layers.outputs import OUTPUTS
from elman.models.ngram import NGram
from elman.models.weights import pack
from elman.recipes import load_recipe
from elman.tasks.language_modelling.counting import Counting
from elman.tasks.language_modelling.task import LanguageModelling
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text import TOKENIZERS
from elman.text.tokenizer import TextConfig, Tokenizer
from elman.text.words import Words

TEXT = sentences(60, 0)
TYPED = [
    "",
    "the",
    "the cat sees",
    "the cat sees a bird .\nthe dog",
    "a zebra sees the",
    "the  cat",
]
SMALL = ["model.hidden_size=6", "model.embedding_size=6", "model.num_layers=2"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Export a run and open the page; it must not complain nor request anything else."""
    opened = []

    def showing(trained: TrainedModel, **options: Any) -> Any:
        path = tmp_path / "model.html"
        trained.export(path, "page", overwrite=True)
        watched = Watched(browser, f"file://{tmp_path}", **options)
        opened.append(watched)
        watched.page.goto(f"file://{path}")
        watched.page.wait_for_function("document.documentElement.dataset.ready")
        return watched.page

    yield showing
    for watched in opened:
        assert watched.complaints == []
        assert watched.elsewhere == []
        watched.context.close()


def _tokenizer(name: str = "words", text: str = TEXT, **settings: Any) -> Tokenizer:
    return TOKENIZERS[name].train(text, TextConfig(tokenizer=name, **settings))


def _network(*settings: str, tokenizer: Tokenizer | None = None) -> TrainedModel:
    """A recurrent network of random weights, large enough to matter."""
    full = [*SMALL, "model.output=full", "model.output_options={}"]
    return _random("quick", *full, *settings, tokenizer=tokenizer)


def _random(recipe: str, *settings: str, tokenizer: Tokenizer | None = None) -> TrainedModel:
    words = tokenizer or _tokenizer()
    config = load_recipe(recipe, list(settings))
    task = LanguageModelling(config, words)
    model = task.fresh_model(words.encode(TEXT))
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return TrainedModel(task, model.eval(), {})


def _count_model(tokenizer: Tokenizer | None = None, **settings: Any) -> TrainedModel:
    words = tokenizer or _tokenizer()
    config = load_recipe("ngram", [f"model.{name}={value}" for name, value in settings.items()])
    size, eos_id = len(words), words.eos_id
    model = NGram.fit(words.encode(TEXT), config.model, vocabulary_size=size, eos_id=eos_id)
    return TrainedModel(Counting(config, words), model, {"model": model.facts()})


def _in_eight_bits(trained: TrainedModel) -> TrainedModel:
    """Elman's run of eight bits, which reads whole texts with the rounded weights."""
    model: Any = copy.deepcopy(trained.model)
    if not hasattr(model, "load_arrays"):
        return trained
    model.load_arrays(pack(model.arrays()))
    return trained.around(model, frozenset())


def _probabilities(trained: TrainedModel, text: str) -> np.ndarray:
    model = _in_eight_bits(trained).model
    ids = torch.from_numpy(trained.tokenizer.encode_typed(text))[None]
    with torch.inference_mode():
        return model.predict(model.read(ids, model.start(1)))[0].exp().numpy()


def _agrees(page: Any, trained: TrainedModel, texts: list[str] = TYPED) -> None:
    found = page.evaluate("texts => texts.map(t => Array.from(elman.logProbs(t), Math.exp))", texts)
    for text, probabilities in zip(texts, found, strict=True):
        np.testing.assert_allclose(probabilities, _probabilities(trained, text), atol=1e-5)


_SIZES = {"bpe": {"vocabulary_size": 300}, "unigram": {"vocabulary_size": 60}}


@pytest.mark.parametrize("cell", CELLS)
def test_every_cell_by_its_equations(cell: str, show: Callable[..., Any]) -> None:
    trained = _network(f"model.cell={cell}")
    _agrees(show(trained), trained)


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output_works_or_is_refused(
    output: str, show: Callable[..., Any], tmp_path: Path
) -> None:
    trained = _network(f"model.output={output}", "model.tied=false")
    if output in ("maxent", "pointer", "ngram-residual", "ngram-mixture"):
        with pytest.raises(InputError, match="the runtime of a page has no operation"):
            trained.export(tmp_path / "model.html", "page")
        assert not (tmp_path / "model.html").exists()
        return
    _agrees(show(trained), trained)


@pytest.mark.parametrize(
    "settings",
    [
        ["model.context=line"],
        ["model.layer_norm=true"],
        ["model.connection=residual"],
        ["model.connection=highway"],
        ["model.zoneout=0.1"],
        ["model.options.projection=3"],
        ["model.options.cell_clip=0.5", "model.options.second_bias=true"],
        ["model.hidden_size=[5,7,6]", "model.num_layers=3"],
        ["model.input=characters", "model.tied=false"],
        ["model.cell=elman", "model.options.activation=relu"],
    ],
    ids=lambda settings: settings[-1],
)
def test_other_networks(settings: list[str], show: Callable[..., Any]) -> None:
    trained = _network(*settings)
    _agrees(show(trained), trained)


WINDOWS = [
    ("bengio", ["model.hidden_size=7"]),
    ("bengio", ["model.hidden_size=7", "model.direct=true"]),
    ("bengio", ["model.order=2", "model.context=line"]),
    ("log-bilinear", ["model.order=4"]),
    ("log-bilinear", ["model.diagonal=true"]),
]


@pytest.mark.parametrize(("recipe", "settings"), WINDOWS, ids=str)
def test_windows_of_words(recipe: str, settings: list[str], show: Callable[..., Any]) -> None:
    trained = _random(recipe, "model.embedding_size=6", "model.output=full", *settings)
    page = show(trained)
    _agrees(page, trained)
    _same_surprisal(page, trained)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"order": 1},
        {"order": 2},
        {"cutoffs": [1, 1, 2]},
        {"context": "stream"},
        {"smoothing": "katz"},
    ],
    ids=str,
)
def test_count_models(settings: dict[str, Any], show: Callable[..., Any]) -> None:
    trained = _count_model(**settings)
    _agrees(show(trained), trained)


HARD = (
    "He didn't see John's “house”, did he? (No.) It cost $3,000.50—or 50%!\n\n  two  spaces\tand"
    " a tab naïve Straße ÉCOLE İstanbul 日本語 👍🏽 e\u0301 l'ami n't <unk> <eos2> a_b x-y 3.5 ..."
    " !! ''\n"
)
SPACES = "a\ufeffb c\u0085d e\x1cf g\u200bh \u3000i\u00a0\u00a0j \x0b k\u2028l \ufeff"


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("name", ["words", "raw-words", "characters", "bytes", "bpe", "unigram"])
def test_tokenizers_give_the_same_ids(name: str, lowercase: bool, show: Callable[..., Any]) -> None:
    learned = TEXT + HARD.replace("👍🏽", "") * 3 + "l'ami n't 's , . ? ( ) % N\n" * 3
    sizes = {"bpe": 330, "unigram": 120}
    size = {"vocabulary_size": sizes[name]} if name in sizes else {}
    tokenizer = _tokenizer(name, learned, lowercase=lowercase, **size)
    page = show(_count_model(tokenizer, order=2))
    texts = [
        HARD,
        *HARD.split("\n"),
        *HARD.split(),
        *TYPED,
        " ",
        "\n",
        "a ",
        " a",
        "\na\n",
        "zzz ööö",
        SPACES,
    ]
    found = page.evaluate("texts => texts.map(t => elman.encode(t))", texts)
    for text, ids in zip(texts, found, strict=True):
        assert ids == tokenizer.encode_typed(text).tolist(), text


def test_elided_words_give_the_same_ids(show: Callable[..., Any]) -> None:
    text = "l'ami qu’il Aujourd'hui n'a aujourd’hui L'AMI 'l' l' d'_x"
    tokenizer = _tokenizer("raw-words", f"{text}\n" * 3, elisions=True)
    page = show(_count_model(tokenizer, order=2))
    assert page.evaluate("t => elman.encode(t)", text) == tokenizer.encode_typed(text).tolist()


SCRIPTS = "नदियों में पानी है। می\u200cخواهم، العَرَبِيَّةُ 日本語のtext，東京。 ไม่ดี ❤️ 1️⃣ m̃bo l'été 12x_3"


@pytest.mark.parametrize("kind", ["words", "raw-words", "raw-words of earlier runs"])
def test_every_script_gives_the_same_ids(kind: str, show: Callable[..., Any]) -> None:
    name, _, earlier = kind.partition(" of ")
    tokenizer = _tokenizer(name, f"{SCRIPTS}\nपानी है ।\n" * 3)
    if earlier:
        tokenizer.scripts = False
    page = show(_count_model(tokenizer, order=2))
    texts = [SCRIPTS, "नई बिल्ली, पानी।", "é̃ 東 京", "\u200dx"]
    found = page.evaluate("texts => texts.map(t => elman.encode(t))", texts)
    for text, ids in zip(texts, found, strict=True):
        assert ids == tokenizer.encode_typed(text).tolist(), text


@pytest.mark.parametrize("form", ["none", "nfc+quotes"])
@pytest.mark.parametrize("quotes", ["''\"\"", "‘’“”"])
def test_normalised_text_gives_the_same_ids(
    form: str, quotes: str, show: Callable[..., Any]
) -> None:
    tokenizer = _tokenizer("characters", TEXT + HARD + quotes * 20, normalise=form)
    text = 'e\u0301 \'tis “so” "he\'s" ‘it’ ("a")'
    page = show(_count_model(tokenizer, order=2))
    assert page.evaluate("t => elman.encode(t)", text) == tokenizer.encode_typed(text).tolist()


@pytest.mark.parametrize("name", ["words", "raw-words", "characters", "bytes", "bpe", "unigram"])
def test_suggestions_are_the_same(name: str, show: Callable[..., Any]) -> None:
    trained = _count_model(_tokenizer(name, TEXT, **_SIZES.get(name, {})))
    page = show(trained)
    for text in ["the", "the ", "the cat", "the cat sees a bi", "the cat sees a bird .\n"]:
        for complete in (False, True):
            own = trained.suggest(text, top=5, complete=complete)
            found = page.evaluate(
                "([text, complete]) => elman.suggest(text, {top: 5, complete})", [text, complete]
            )
            expected = [one.probability for one in own]
            # A beam spells other tokens: which of two equal spellings it drops is a coin toss.
            close = 1e-4 if trained.tokenizer.whole_words else 0.03
            assert [one["probability"] for one in found] == pytest.approx(
                expected, rel=close, abs=1e-2 * close
            )
            ranked = {one.token: one.probability for one in own}
            for one in found:  # words of equal probability may be in any order
                lowest = min(expected)
                assert one["token"] in ranked or one["probability"] == pytest.approx(
                    lowest, rel=close
                )


LINES = [
    "the cat sees a zebra .\nthe bird",
    "The  cat sees a bird.\n\n a dog ",
    "the cat\u00a0sees caf\u00e9 cafe\u0301 the\ncat sees the cat\n",
    "c",
    SPACES,
    " ",
    "\n",
    "",
]


def _same_surprisal(page: Any, trained: TrainedModel) -> None:
    """The surprisal of whole words, line by line, as `elman surprisal` gives it."""
    rounded = _in_eight_bits(trained)
    for text in LINES:
        for reset in ("line", "stream"):
            own = rounded.surprisal(text, reset=reset)
            measured = page.evaluate("([t, reset]) => elman.surprisal(t, {reset})", [text, reset])
            found = measured["words"]
            assert [one["word"].replace("\n", "<eos>") for one in found] == [w.word for w in own]
            for one, right in zip(found, own, strict=True):
                assert one["surprisal"] == pytest.approx(right.surprisal, abs=1e-3)
                assert one["uncorrected"] == pytest.approx(right.surprisal_uncorrected, abs=1e-3)
                assert (one["tokens"], one["unknown"]) == (right.tokens, right.unknown)
            assert measured["bits"] == pytest.approx(sum(w.surprisal for w in own), abs=1e-2)


@pytest.mark.parametrize("network", [False, True], ids=["n-gram", "lstm"])
@pytest.mark.parametrize("name", ["words", "raw-words", "characters", "bytes", "bpe", "unigram"])
def test_surprisal_is_the_same(name: str, network: bool, show: Callable[..., Any]) -> None:
    tokenizer = _tokenizer(name, TEXT, **_SIZES.get(name, {}))
    trained = _network(tokenizer=tokenizer) if network else _count_model(tokenizer)
    _same_surprisal(show(trained), trained)


def test_surprisal_of_normalised_words(show: Callable[..., Any]) -> None:
    tokenizer = _tokenizer("characters", TEXT + "\u00e9", normalise="nfc", lowercase=True)
    trained = _count_model(tokenizer)
    _same_surprisal(show(trained), trained)


def test_typing_letter_by_letter_gives_the_same_as_at_once(show: Callable[..., Any]) -> None:
    """What is remembered while typing and deleting does not change the numbers."""
    page = show(_network(tokenizer=_tokenizer("bpe", TEXT, **_SIZES["bpe"])))
    text = "the cat sees\na bird . the"
    typed = [text[:n] for n in range(len(text))] + [text[:n] for n in range(len(text), 8, -1)]
    ask = "t => [elman.suggest(t, {complete: true}), elman.surprisal(t), [...elman.logProbs(t)]]"
    while_typing = page.evaluate(f"texts => texts.map({ask})", [*typed, text])
    page.reload()
    page.wait_for_function("document.documentElement.dataset.ready")
    assert while_typing[-1] == page.evaluate(ask, text)


HOSTILE = [
    "</script>", "<!--", "<script>", "-->", "]]>", '"', "'", "`", "\\", "${alert(1)}", "\u2028x",
    "&lt;", "<img/src=x/onerror=alert(1)>", "$model", "x\u2029", "</textarea>", "__proto__",
    "constructor", "\0", "a\0b", "</SCRIPT >", "<!--<script>", "*/", "\\u003c/script>", "\ufeff",
    "\ud800", "\udc00x", "\U0001f600", "</style>", "\x1b[31m",
]  # fmt: skip


def _hostile(name: str = "run") -> TrainedModel:
    tokenizer = Words(["<eos>", "<unk>", *HOSTILE])
    ids = np.arange(len(tokenizer)).repeat(3)
    config = load_recipe("ngram", ["model.order=2", "model.smoothing=witten-bell"])
    model = NGram.fit(ids, config.model, vocabulary_size=len(tokenizer), eos_id=0)
    return TrainedModel(Counting(config, tokenizer), model, {"model": model.facts()}, name)


# Numbers, since a half character does not pass between two programs.
_UNITS = "words => words.map((w) => [...w.token.split('')].map((c) => c.charCodeAt(0)))"


def _units(text: str) -> list[int]:
    packed = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(packed[n : n + 2], "little") for n in range(0, len(packed), 2)]


HOSTILE_UNITS = sorted(map(_units, {token.strip() for token in HOSTILE}))


def test_no_token_breaks_out_of_the_script(show: Callable[..., Any], tmp_path: Path) -> None:
    alerts: list[str] = []
    page = show(_hostile("<b>&</script><script>alert(2)"))
    page.on("dialog", lambda dialog: alerts.append(dialog.message))
    assert page.evaluate("document.scripts.length") == 3
    assert page.evaluate("document.images.length") == 0
    found = page.evaluate(f"({_UNITS})(elman.suggest('', {{top: 99}}))")
    assert sorted(found) == HOSTILE_UNITS
    page.fill("#text", " ".join(HOSTILE[:5]) + " ")
    page.locator(".chip").first.click()
    assert page.locator("#tokens .token").count() >= 5
    assert page.text_content("#title") == "script><script>alert(2)"
    assert alerts == []
    assert (tmp_path / "model.html").read_text().count("</script>") == 3


def _node(folder: Path, script: str) -> Any:
    """What a script prints as JSON in Node, which has no document."""
    place = shutil.which("node")
    if place is None:
        pytest.skip("needs Node: apt-get install nodejs")
    (folder / "use.mjs").write_text(script)
    command = [place, "use.mjs"]
    printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert printed.stderr == ""
    return json.loads(printed.stdout)


def test_a_module_for_other_programs(tmp_path: Path) -> None:
    """A keyboard and a password meter take the runtime without the page."""
    trained = _network(tokenizer=_tokenizer("characters", TEXT))
    trained.export(tmp_path / "model.mjs", "page")
    script = """
      import { suggest, surprisal, load } from "./model.mjs";
      const own = load();
      const text = "the cat";
      console.log(JSON.stringify({
        keyboard: suggest("the ca", {top: 3, complete: true}),
        bits: surprisal(text).bits,
        own: own.surprisal(text).bits,
        about: own.about,
      }));
    """
    found = _node(tmp_path, script)
    rounded = _in_eight_bits(trained)
    right = rounded.suggest("the ca", top=3, complete=True)
    assert [one["token"] for one in found["keyboard"]] == [one.token for one in right]
    bits = sum(word.surprisal for word in rounded.surprisal("the cat"))
    assert found["bits"] == found["own"] == pytest.approx(bits, abs=1e-3)
    assert "lstm" in found["about"]


def test_a_module_with_hostile_tokens(tmp_path: Path) -> None:
    _hostile().export(tmp_path / "model.mjs", "page")
    script = f"""
      import {{ suggest }} from "./model.mjs";
      console.log(JSON.stringify(({_UNITS})(suggest("", {{top: 99}}))));
    """
    found = _node(tmp_path, script)
    assert sorted(found) == HOSTILE_UNITS


def test_embedded_json_is_the_same_data() -> None:
    data = {"tokens": [*HOSTILE, "ü"], "n": [1, 2.5, None]}
    written = embedded_json(data)
    assert json.loads(written) == data
    written.encode()  # no half characters
    assert not re.search(r"[<>&\u2028\u2029]", written)


def test_the_operations_are_those_of_the_runtime(show: Callable[..., Any]) -> None:
    known = set(show(_count_model(order=2)).evaluate("Object.keys(Program.ops)"))
    assert set(OPERATIONS.values()) == known


def test_typing_and_choosing(show: Callable[..., Any]) -> None:
    page = show(_count_model(), viewport={"width": 390, "height": 844})
    page.fill("#text", "the ca")
    assert page.locator(".chip .word").first.text_content() == "cat"
    page.locator(".chip").first.click()
    assert page.input_value("#text") == "the cat "
    assert page.locator("#tokens .token").count() == 2
    assert "2 words" in page.text_content("#total")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_spelled_words_wait_for_a_pause(show: Callable[..., Any]) -> None:
    page = show(_count_model(_tokenizer("characters")))
    page.evaluate("document.getElementById('text').value = 'the ca'")
    typed = "document.getElementById('text').dispatchEvent(new Event('input'))"
    is_inert = "document.getElementById('suggestions').inert"
    assert page.evaluate(f"{typed}, {is_inert}")  # old suggestions cannot be chosen
    page.wait_for_selector("#suggestions:not([inert]) .chip")
    assert page.locator(".chip .word").first.text_content() == "cat"
    page.locator(".chip").first.click()
    assert page.input_value("#text") == "the cat "


def test_a_word_shows_what_was_expected(show: Callable[..., Any]) -> None:
    trained = _count_model()
    page = show(trained)
    page.fill("#text", "the dog .\nthe cat sees")
    assert "6 words and 1 line end" in page.text_content("#total")
    word = page.locator("#tokens button").nth(5)  # after the line end: `cat`
    word.click()
    shown = page.text_content("#details")
    own = trained.surprisal("the dog .\nthe cat sees")[5]
    assert shown.startswith(f"cat: {own.surprisal:.2f} bits")
    for suggestion in trained.suggest("the"):
        assert suggestion.token in shown
    word.click()
    assert page.text_content("#details") == ""


def test_with_the_keyboard_only(show: Callable[..., Any]) -> None:
    page = show(_count_model())
    page.keyboard.type("the ca")  # the text has the focus
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.input_value("#text") == "the cat "
    page.keyboard.type("sees")
    assert page.input_value("#text") == "the cat sees"


def test_text_from_right_to_left(show: Callable[..., Any]) -> None:
    page = show(_count_model())
    page.fill("#text", "\u05d4\u05d9\u05dc\u05d3 \u05d4\u05d5\u05dc\u05da")
    assert page.get_attribute("#tokens", "dir") == "rtl"
    boxes = [page.locator("#tokens button").nth(n).bounding_box()["x"] for n in (0, 1)]
    assert boxes[0] > boxes[1]
    page.fill("#text", "the cat")
    assert page.get_attribute("#tokens", "dir") == "ltr"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(scheme: str, show: Callable[..., Any]) -> None:
    page = show(_count_model(), viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.fill("#text", f"the cat sees {'antidis' * 20} a\nb {'x' * 300}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = page.evaluate(
        "[...document.querySelectorAll('button')].map(e => e.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44  # what fingers need


def test_runs_that_a_page_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs smoothing"):
        _count_model(smoothing="maximum-likelihood").export(tmp_path / "model.html", "page")
    assert [*tmp_path.iterdir()] == []


def test_weights_take_a_byte_each(tmp_path: Path) -> None:
    words = Words(["<eos>", "<unk>", *(f"w{number}" for number in range(3000))])
    trained = _network("model.hidden_size=64", "model.embedding_size=64", tokenizer=words)
    trained.export(tmp_path / "model.html", "page")
    weights = re.search(r'id="weights">([^<]*)<', (tmp_path / "model.html").read_text())
    assert weights
    assert len(weights[1]) < 1.5 * trained.model.count_parameters()  # 4/3 for base64
