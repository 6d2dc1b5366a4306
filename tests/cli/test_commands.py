"""Every command, as people and scripts call it."""

import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import elman
from elman.cli import COMMANDS, run

Capture = pytest.CaptureFixture[str]
WRITTEN = [name for name, file in COMMANDS.items() if importlib.util.find_spec(f"elman.cli.{file}")]


def sentences(lines: int, seed: int) -> str:
    random = np.random.default_rng(seed)
    nouns, verbs = ("cat", "dog", "bird"), ("sees", "hears", "likes")
    return "".join(
        f"the {nouns[a]} {verbs[a - 1]} a {nouns[b]} .\n"
        for a, b in random.integers(0, 3, (lines, 2))
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    (place / "data").mkdir()
    for number, (split, lines) in enumerate({"train": 200, "valid": 40, "test": 40}.items()):
        (place / "data" / f"{split}.txt").write_text(sentences(lines, number))
    data = str(place / "data")
    elman.train("ngram", data=data, out=place / "words")
    elman.train("laplace", data=data, out=place / "laplace")
    elman.train("ngram-characters", data=data, out=place / "letters")
    return place


@pytest.fixture
def call(place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command line inside the place; exit code, output, error output."""
    monkeypatch.chdir(place)

    def calling(*arguments: str) -> SimpleNamespace:
        capsys.readouterr()
        code = run(list(arguments))
        printed = capsys.readouterr()
        return SimpleNamespace(code=code, out=printed.out, err=printed.err)

    return calling


@pytest.fixture
def says(call: Any) -> Any:
    """The output of a command that must succeed."""

    def saying(*arguments: str) -> str:
        result = call(*arguments)
        said = [line for line in result.err.splitlines() if not line.endswith("…")]
        assert result.code == 0
        assert all(line.startswith("note: ") for line in said), result.err
        return result.out

    return saying


@pytest.fixture
def gives(says: Any) -> Any:
    """The data that a command prints with --json."""

    def giving(*arguments: str) -> Any:
        return json.loads(says(*arguments, "--json"))

    return giving


# Help ---------------------------------------------------------------------------------------------


def test_help_lists_every_command(says: Any) -> None:
    lines = [line.strip("│ ").split(" ")[0] for line in says("--help").splitlines()]
    assert set(COMMANDS) <= set(lines)


@pytest.mark.parametrize("command", WRITTEN)
def test_every_command_has_an_example_and_says_what_its_parameters_are(
    says: Any, command: str
) -> None:
    shown = says(command, "--help")
    assert f"elman {command}" in shown.split("For example:", 1)[1]
    assert "--json" in shown


def test_version(says: Any) -> None:
    assert says("--version").strip() == elman.__version__


# train --------------------------------------------------------------------------------------------


def test_train(call: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = call("train", "ngram", "--data", "data", "--out", str(out), "--set", "model.order=3")
    assert result.code == 0
    assert "read 200 lines, 1,400 tokens (words), vocabulary 11" in result.out
    assert "validation perplexity" in result.out
    assert f"next: elman generate {out}" in result.out
    assert len(result.out.splitlines()) == 9  # three orders in a table with two lines above it
    assert all(line.startswith("note: ") for line in result.err.splitlines())
    assert elman.load(out).config.model.order == 3


def test_train_as_data(gives: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    found = gives("train", "laplace", "--data", "data", "--out", out, "--seed", "3")
    assert found["run"] == out
    assert found["config"]["seed"] == 3
    assert found["config"]["model"]["smoothing"] == "add-delta"
    assert found["model"]["vocabulary_size"] == 11
    assert found["validation"]["perplexity"] > 1


def test_train_again(call: Any, tmp_path: Path) -> None:
    train = ("train", "laplace", "--data", "data", "--out", str(tmp_path / "run"))
    assert call(*train).code == 0
    again = call(*train)
    assert again.code == 2
    assert "exists already" in again.err
    assert call(*train, "--overwrite").code == 0


# evaluate and compare -----------------------------------------------------------------------------


def test_evaluate(says: Any) -> None:
    shown = says("evaluate", "words", "--data", "data")
    for line in ("perplexity", "bits per byte", "tokens", "protocol: words · vocabulary 11 ·"):
        assert f"\n{line}" in shown
    assert "mixture" not in shown
    assert "text: data/test.txt" in shown


def test_evaluate_as_data(gives: Any, place: Path) -> None:
    found = gives("evaluate", "words", "--data", "data")
    expected = elman.load(place / "words").evaluate(str(place / "data"))
    assert found["perplexity"] == pytest.approx(expected.perplexity)
    assert found["nats"] == pytest.approx(expected.nats)
    assert found["bits_per_byte"] == pytest.approx(expected.bits_per_byte)
    assert found["tokens"] == 280
    assert found["protocol"]["unit"] == "words"
    assert found["protocol"]["signature"] == str(expected.protocol)
    assert found["model"]["order"] == 5


def test_evaluate_options(gives: Any) -> None:
    plain = gives("evaluate", "letters", "--data", "data")
    cut = gives("evaluate", "letters", "--data", "data", "--batch-size", "4", "--window", "9")
    assert cut == plain
    valid = gives("evaluate", "letters", "--data", "data", "--split", "valid", "--reset", "line")
    assert "valid" in valid["protocol"]["text"]
    assert valid["protocol"]["state"] == "every line by itself"


def test_evaluate_accuracy(gives: Any, says: Any) -> None:
    command = ("evaluate", "letters", "--data", "data", "--accuracy")
    found = gives(*command)["accuracy"]
    assert found["counted"] == gives("evaluate", "letters", "--data", "data")["tokens"]
    assert 0 < found["accuracy"] < 1
    assert found["accuracy"] == found["right"] / found["counted"]
    after = gives(*command, "--after", "t", "--until", " ")["accuracy"]
    assert 0 < after["counted"] < found["counted"]
    shown = says(*command, "--after", "t")
    assert "accuracy" in shown
    assert "counted: tokens after 't' in their line, the line end too" in shown
    assert gives(*command, "--batch-size", "3", "--reset", "line")["accuracy"]["counted"]


def test_evaluate_with_adapters(says: Any, gives: Any) -> None:
    cache = ("evaluate", "laplace", "--data", "data", "--with", "cache:window=50")
    assert re.search(r"\nwith: \d\.\d{3} ngram \+ \d\.\d{3} cache\n", says(*cache))
    both = gives(*cache, "--with", "mix:run=words,weight=0.5")
    assert both["model"]["weights"] == [0.5, 0.5]
    assert both["model"]["models"][0]["model"] == "mixture"
    assert both["perplexity"] < gives("evaluate", "laplace", "--data", "data")["perplexity"]


def test_evaluate_where_a_word_is_impossible(call: Any, tmp_path: Path) -> None:
    raw = ("--set", "model.smoothing=maximum-likelihood", "--set", "model.order=1")
    assert call("train", "ngram", "--data", "data", "--out", str(tmp_path / "run"), *raw).code == 0
    (tmp_path / "text.txt").write_text("the zebra sees a cat .\n")
    evaluate = ("evaluate", str(tmp_path / "run"), "--data", str(tmp_path / "text.txt"))
    shown = call(*evaluate)
    assert "∞" in shown.out
    assert "1 tokens have probability zero" in shown.err
    assert json.loads(call(*evaluate, "--json").out)["perplexity"] is None


def test_compare(call: Any) -> None:
    result = call("compare", "laplace", "words", "letters", "--data", "data")
    assert result.code == 0
    names = [line.split(" ")[0] for line in result.out.splitlines()[2:5]]
    assert names == ["laplace", "words", "letters"]
    assert "compare bits per byte instead" in result.err


def test_compare_as_data(gives: Any) -> None:
    first, second = gives("compare", "laplace", "words", "--data", "data")
    assert (first["run"], second["run"]) == ("laplace", "words")
    assert first["against_first"] is None
    assert second["perplexity_comparable"] is True
    assert second["against_first"]["p_value"] < 0.05
    assert second["against_first"]["difference"] < 0


def test_compare_on_a_few_lines_says_so(call: Any, tmp_path: Path) -> None:
    (tmp_path / "few.txt").write_text(sentences(3, 5))
    result = call("compare", "laplace", "words", "--data", str(tmp_path / "few.txt"))
    assert result.code == 0
    assert "too few to say" in result.err


# generate and suggest -----------------------------------------------------------------------------


def test_generate(says: Any, place: Path) -> None:
    shown = says("generate", "words", "--prompt", "the cat", "--max-tokens", "4", "--seed", "3")
    (expected,) = elman.load(place / "words").generate("the cat", max_tokens=4, seed=3)
    assert shown == expected.text + "\n"
    spaced = says("generate", "words", "--prompt", "the cat ", "--max-tokens", "4", "--seed", "3")
    assert spaced == shown
    letters = says("generate", "letters", "--prompt", "the ", "--max-tokens", "3", "--greedy")
    assert letters.startswith("the ")
    assert len(letters) == len("the xyz\n")


def test_generate_several(says: Any) -> None:
    shown = says("generate", "words", "--prompt", "a", "--samples", "3", "--stop-at-line-end")
    assert [line for line in shown.splitlines() if line.startswith("──")][2].startswith("── 3 (log")
    beam = says("generate", "words", "--beam", "4", "--n-best", "2", "--max-tokens", "5")
    assert beam.count("──") == 2


def test_generate_as_data(gives: Any) -> None:
    (found,) = gives("generate", "words", "--prompt", "the cat", "--max-tokens", "3")
    assert found["text"] == "the cat" + found["continuation"]
    assert len(found["tokens"]) == 3
    assert found["log_prob"] < 0
    assert len(gives("generate", "words", "--samples", "4")) == 4


def test_generate_knobs(gives: Any) -> None:
    options = ("generate", "words", "--prompt", "the", "--samples", "8", "--max-tokens", "6")
    for sample in gives(*options, "--ban", "cat", "--ban", "."):
        assert not {"cat", "."} & set(sample["tokens"])
    for sample in gives(*options, "--force", "bird sees"):
        assert sample["tokens"][:2] == ["bird", "sees"]
    assert all(" a" not in sample["continuation"] for sample in gives(*options, "--stop", " a"))
    greedy = [gives(*options, *knob) for knob in (("--greedy",), ("--temperature", "0"))]
    assert greedy[0] == greedy[1]
    assert len({sample["text"] for sample in greedy[0]}) == 1


def test_generate_measures(gives: Any, says: Any) -> None:
    options = ("generate", "words", "--samples", "5", "--measure", "--against", "data")
    found = gives(*options)
    assert len(found["samples"]) == 5
    assert found["measures"]["samples"] == 5
    assert set(found["measures"]["copied"]) == {"4", "6", "8"}
    shown = says(*options)
    assert "distinct-1" in shown
    assert "longest copy (tokens)" in shown
    assert says("generate", "words", "--measure").count("copied") == 0


def test_generate_says_when_the_prompt_is_unknown(call: Any) -> None:
    result = call("generate", "words", "--prompt", "the zebra", "--max-tokens", "2")
    assert result.code == 0
    assert "1 of 2 tokens of the prompt are unknown" in result.err


def test_suggest(says: Any, gives: Any, place: Path) -> None:
    shown = says("suggest", "words", "the", "--top", "2").splitlines()
    assert shown[0].split() == ["token", "probability"]
    assert len(shown) == 4
    found = gives("suggest", "words", "the")
    expected = elman.load(place / "words").suggest("the")
    assert found == [{"token": s.token, "probability": s.probability} for s in expected]
    completed = gives("suggest", "letters", "the ca", "--complete", "--top", "1")
    assert completed[0]["token"] == "cat"
    assert len(gives("suggest", "words")) == 5


# surprisal ----------------------------------------------------------------------------------------


def test_surprisal(says: Any, gives: Any, tmp_path: Path) -> None:
    shown = says("surprisal", "words", "--text", "the zebra\n").splitlines()
    assert shown[0].split("\t")[:4] == ["line", "position", "word", "surprisal"]
    assert [line.split("\t")[2] for line in shown[1:]] == ["the", "zebra", "<eos>"]
    assert [line.split("\t")[-1] for line in shown[1:]] == ["0", "1", "0"]
    rows = gives("surprisal", "words", "--text", "the zebra\n")
    assert [row["word"] for row in rows] == ["the", "zebra", "<eos>"]
    for line, row in zip(shown[1:], rows, strict=True):
        assert float(line.split("\t")[3]) == pytest.approx(row["surprisal"], abs=1e-6)
    (tmp_path / "text.txt").write_text("the zebra\n")
    assert gives("surprisal", "words", str(tmp_path / "text.txt")) == rows


def test_surprisal_of_standard_input(gives: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "the “ cat ”\na dog"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    piped = gives("surprisal", "words", "-", "--base", "e")
    assert piped == gives("surprisal", "words", "--text", text, "--base", "e")


def test_surprisal_options(gives: Any) -> None:
    two, e, ten = (
        gives("surprisal", "letters", "--text", "the cat\n", "--base", base)[0]["surprisal"]
        for base in ("2", "e", "10")
    )
    assert two * np.log(2) == pytest.approx(e)
    assert ten * np.log(10) == pytest.approx(e)
    text = "the cat sees a dog .\nthe bird"
    line, stream = (
        gives("surprisal", "letters", "--text", text, "--reset", reset)
        for reset in ("line", "stream")
    )
    assert line[:5] == stream[:5]
    assert line != stream
    cached = gives("surprisal", "words", "--text", text, "--with", "cache:weight=0.3")
    assert [row["word"] for row in cached] == [row["word"] for row in line]


def test_a_word_with_quotes_does_not_break_the_table(says: Any) -> None:
    shown = says("surprisal", "letters", "--text", 'the "cat" sees')
    rows = [line.split("\t") for line in shown.splitlines()]
    assert [row[2] for row in rows[1:]] == ["the", '"cat"', "sees"]


# explain, export, import, data, list, tour --------------------------------------------------------


def test_explain(says: Any, gives: Any) -> None:
    shown = says("explain", "words", "--text", "the cat")
    assert [line.split(":")[0] for line in shown.splitlines() if ": probability" in line] == [
        "the",
        "cat",
    ]
    found = gives("explain", "words", "--text", "the cat")
    rows = gives("surprisal", "words", "--text", "the cat", "--base", "e")
    assert [word["token"] for word in found] == ["the", "cat"]
    for word, row in zip(found, rows, strict=True):
        assert -np.log(word["probability"]) == pytest.approx(row["surprisal"])


def test_export_and_import(says: Any, gives: Any, tmp_path: Path) -> None:
    arpa, out = str(tmp_path / "words.arpa"), str(tmp_path / "imported")
    assert f"wrote {arpa}: order 5" in says("export", "words", arpa)
    assert f"saved in {out}" in says("import", arpa, "--out", out)
    original, imported = (
        gives("evaluate", name, "--data", "data")["nats"] for name in ("words", out)
    )
    assert imported == pytest.approx(original, rel=1e-5)


def test_export_does_not_overwrite(call: Any, tmp_path: Path) -> None:
    path = tmp_path / "words.arpa"
    path.write_text("precious")
    result = call("export", "words", str(path))
    assert result.code == 2
    assert "exists already" in result.err
    assert path.read_text() == "precious"
    assert call("export", "words", str(path), "--overwrite").code == 0


def test_data(says: Any, call: Any, gives: Any, tmp_path: Path) -> None:
    assert "grammar" in says("data")
    assert set(gives("data")) == {"arithmetic", "grammar", "python-docs", "xml"}
    assert "looks like text for the tokenizer: words" in says("data", "data")
    found = gives("data", "data")
    assert found["splits"]["train"]["lines"] == 200
    assert found["splits"]["train"]["words"] == 1200
    assert found["splits"]["test"]["distinct_words"] == 9
    result = call("data", "data", "--write", str(tmp_path / "copy"))
    assert result.code == 0
    assert (tmp_path / "copy" / "test.txt").read_text() == sentences(40, 2)
    assert call("data", "data", "--write", str(tmp_path / "copy")).code == 2


def test_list(says: Any, gives: Any) -> None:
    families = gives("list")
    assert {"adapters", "corpora", "decoding", "models", "recipes", "smoothers"} <= set(families)
    assert all(about for members in families.values() for about in members.values())
    shown = says("list")
    assert all(name in shown for members in families.values() for name in members)
    assert gives("list", "recipes") == {"recipes": families["recipes"]}
    assert "ngram" in says("list", "models")


def test_tour(monkeypatch: pytest.MonkeyPatch, says: Any, gives: Any, tmp_path: Path) -> None:
    from elman.tour import RUNGS

    five = RUNGS["grammar"][4]
    short = {"grammar": [RUNGS["grammar"][1], five], "python-docs": [RUNGS["python-docs"][2]]}
    monkeypatch.setattr("elman.tour.ladder.RUNGS", short)
    page = tmp_path / "tour.html"
    shown = says("tour", "--report", str(page))
    assert "the limit: the grammar itself" in shown
    assert "That was 3 models" in shown
    assert "What to try next:" in shown
    assert str(page) in shown
    assert five.name in page.read_text(encoding="utf-8")
    found = gives("tour", "--report", "")
    assert [rung["rung"] for rung in found["ladders"]["grammar"]] == [
        "bigram, add one (Laplace)",
        "5-gram, modified Kneser-Ney",
    ]
    assert found["limit"] > 1


def test_regimes(says: Any, gives: Any, tmp_path: Path) -> None:
    options = ["--seeds", "2", "--sentences", "60", "--epochs", "1", "--set", "model.hidden_size=8"]
    shown = says(
        "regimes",
        "teacher-forcing",
        "scheduled-sampling:final=0.2",
        *options,
        "--out",
        str(tmp_path / "new"),
    )
    assert "scheduled-sampling final=0.2" in shown
    assert "Means over 2 seeds" in shown
    assert (tmp_path / "new" / "regimes.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((tmp_path / "new" / "regimes.json").read_text(encoding="utf-8"))
    assert [found["regime"] for found in written["regimes"]] == [
        "teacher-forcing",
        "scheduled-sampling",
    ]
    found = gives("regimes", "teacher-forcing", *options)
    (again,) = found["regimes"]
    assert [run["exposure"] for run in again["runs"]] == [
        run["exposure"] for run in written["regimes"][0]["runs"]
    ]  # seconds differ
    assert 4 < found["limit"] < again["runs"][0]["perplexity"]


# Wrong input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("regimes teacher", "unknown regime 'teacher'; did you mean 'teacher-forcing'?"),
        ("regimes teacher-forcing:final=1", "unknown option 'final' of the regime"),
        ("regimes --seeds 0", "--seeds 0: must be at least 1"),
        ("regimes --sentences 3", "--sentences 3: must be at least 50"),
        ("evaluate nowhere --data data", "nowhere: no such run"),
        ("evaluate words --data data --after x", "give that too"),
        ("evaluate letters --data data --accuracy --after the", "'the': is not one token"),
        ("evaluate letters --data data --accuracy --until t", "give both"),
        ("evaluate words --data nowhere", "nowhere: no such file, folder or built-in corpus"),
        ("evaluate words", "data"),
        ("evaluate words --data data --split best", "no 'best' split"),
        ("evaluate words --data data --reset word", "reset='word'"),
        ("evaluate words --data data --batch-size 0", "batch_size=0"),
        ("evaluate words --data data --window -1", "window=-1"),
        ("evaluate words --data data --with cash", "did you mean 'cache'"),
        ("evaluate words --data data --with mix:run=letters", "another vocabulary"),
        ("train ngarm --data data --out x", "did you mean 'ngram'"),
        ("generate words --top-p 2", "top_p is 2.0"),
        ("generate words --temperature hot", "temperature"),
        ("generate words --prompt the --beam 2 --samples 2", "beam search draws no samples"),
        ("generate words --ban zebra", "--ban zebra: is not a single token"),
        ("generate letters --ban cat", "--ban cat: is not a single token"),
        ("generate words --max-tokens -1", "max_tokens is -1"),
        ("suggest words the --top 0", "top=0"),
        ("surprisal words", "either a file or --text"),
        ("surprisal words data/test.txt --text the", "either a file or --text"),
        ("surprisal words --text the --base 3", "choose 2, e or 10"),
        ("surprisal words --text the --with dynamic", "goes around a neural run"),
        ("surprisal words nowhere.txt", "no such file"),
        ("surprisal words --txet the", "--txet"),
        ("import nowhere.arpa --out x", "nowhere.arpa"),
        ("list tokenisers", "did you mean 'tokenizers'"),
        ("data nowhere", "no such file"),
        ("trian ngram", "trian"),
    ],
)
def test_wrong_input_gets_one_clear_line(call: Any, line: str, message: str) -> None:
    result = call(*line.split(" "))
    assert result.code == 2
    assert result.out == ""
    assert message in result.err
    assert result.err.startswith("elman: ")
    assert result.err.count("\n") == 1


def test_an_interruption_is_no_traceback(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("elman.tasks.language_model.load", interrupt)
    result = call("suggest", "words", "the")
    assert (result.code, result.err) == (130, "elman: stopped\n")


# As a process of its own --------------------------------------------------------------------------


def process(*arguments: str, place: Path, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["train", "--help"],
        ["list", "recipes"],
        ["train", "ngram", "--data", "data", "--out", "without-torch"],
        ["data", "data"],
        ["export", "words", "without-torch.arpa"],
    ],
    ids=" ".join,
)
def test_what_needs_no_torch_does_not_import_it(arguments: list[str], place: Path) -> None:
    script = (
        "import sys\nfrom elman.cli import run\n"
        f"assert run({arguments!r}) == 0\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    running = process("-c", script, place=place)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors.decode()


def test_the_reader_of_a_pipe_may_leave(place: Path) -> None:
    (place / "long.txt").write_text(sentences(3000, 8))
    running = process("-m", "elman", "surprisal", "words", "long.txt", place=place)
    assert running.stdout is not None
    assert running.stderr is not None
    assert running.stdout.readline().startswith(b"line\t")
    running.stdout.close()
    said = running.stderr.read().splitlines()
    assert all(line.startswith((b"note: ", b"tokens: ")) for line in said), said
    running.stderr.close()
    assert running.wait(timeout=60) == 0


def test_what_a_terminal_cannot_show_is_no_reason_to_fail(place: Path) -> None:
    surroundings = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    running = process("-m", "elman", "suggest", "words", "the", place=place, env=surroundings)
    shown, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (0, b"")
    assert b"probability" in shown
