"""Wrong input to every command: exit code 2 and one line that names the culprit, nothing else."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from elman import cli

Bad = Callable[..., None]

TEXT = "the cat sees the dog .\na dog sees the cat .\n" * 30


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a good text, a good run, and all kinds of files that are neither."""
    folder = tmp_path_factory.mktemp("bad-input")
    (folder / "good.txt").write_text(TEXT)
    (folder / "empty.txt").write_text("")
    (folder / "blank.txt").write_text(" \n\t\n")
    (folder / "latin1.txt").write_bytes("voilà\n".encode("latin-1"))
    (folder / "nul.txt").write_bytes(b"a\0b\n")
    (folder / "plain.txt.gz").write_text(TEXT)
    (folder / "cut.txt.gz").write_bytes(gzip.compress(TEXT.encode())[:-9])
    (folder / "eos.txt").write_text("the cat <eos>\n")
    (folder / "bad.toml").write_text("[model\n")
    (folder / "value.toml").write_text("model = 3\n")
    (folder / "foreign").mkdir()
    (folder / "foreign" / "a.txt").write_text("a")
    (folder / "foreign" / "b.toml").write_text("b")
    here = Path.cwd()
    os.chdir(folder)
    try:
        assert cli.run(["train", "ngram", "--data", "good.txt", "--out", "run"]) == 0
    finally:
        os.chdir(here)
    shutil.copytree(folder / "run", folder / "corrupt")
    weights = folder / "corrupt" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    shutil.copytree(folder / "run", folder / "incomplete")
    (folder / "incomplete" / "tokenizer.json").unlink()
    return folder


@pytest.fixture
def refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Bad:
    """Runs a command that must be refused with a line that holds the culprit."""
    monkeypatch.chdir(place)

    def check(*arguments: str, culprit: str) -> None:
        before = sorted(place.rglob("*"))
        code = cli.run(list(arguments))
        out, err = capsys.readouterr()
        assert err.startswith("elman: ")
        assert culprit in err
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert "Traceback" not in err
        assert out == ""
        assert code == 2
        assert sorted(place.rglob("*")) == before  # nothing is written

    return check


# Files and runs, everywhere ---------------------------------------------------------------------

# Commands that read text, from the run or file on; and files that are no text.
READ_TEXT = {
    "train": ["train", "ngram", "--out", "new", "--data"],
    "evaluate": ["evaluate", "run", "--data"],
    "compare": ["compare", "run", "run", "--data"],
    "surprisal": ["surprisal", "run"],
    "data": ["data"],
    "generate": ["generate", "run", "--measure", "--max-tokens", "3", "--against"],
}
NO_TEXT = {
    "missing.txt": "missing.txt: no such file",
    "foreign": "foreign: ",
    "latin1.txt": "latin1.txt, line 1: byte 0xE0 is not UTF-8",
    "empty.txt": "empty.txt: contains no text",
    "blank.txt": "blank.txt: contains no text",
    "nul.txt": "nul.txt, line 1: has a NUL byte",
    "plain.txt.gz": "plain.txt.gz: ends in .gz but is not a complete gzip file",
    "cut.txt.gz": "cut.txt.gz: ends in .gz but is not a complete gzip file",
    "x" * 300: "x" * 300,
}


@pytest.mark.parametrize("command", READ_TEXT)
@pytest.mark.parametrize("file", NO_TEXT, ids=lambda name: name[:20])
def test_a_file_that_is_no_text(refused: Bad, command: str, file: str) -> None:
    refused(*READ_TEXT[command], file, culprit=NO_TEXT[file])


# Commands that read a run, with the run left out; and folders that are no run.
READ_RUN = {
    "evaluate": ["evaluate", "{}", "--data", "good.txt"],
    "compare": ["compare", "run", "{}", "--data", "good.txt"],
    "generate": ["generate", "{}", "--max-tokens", "3"],
    "surprisal": ["surprisal", "{}", "--text", "the cat"],
    "suggest": ["suggest", "{}", "the"],
    "mix": ["evaluate", "run", "--data", "good.txt", "--with", "mix:run={}"],
    "export": ["export", "{}", "new.arpa"],
}
NO_RUN = {
    "missing": "missing: no such run; train one with",
    "foreign": "foreign: not an elman run folder",
    "good.txt": "good.txt: not an elman run folder",
    "corrupt": "weights.safetensors: damaged: expected",
    "incomplete": "tokenizer.json: cannot be read",
    "x" * 300: "x" * 300,
}


@pytest.mark.parametrize("command", READ_RUN)
@pytest.mark.parametrize("run", NO_RUN, ids=lambda name: name[:20])
def test_a_folder_that_is_no_run(refused: Bad, command: str, run: str) -> None:
    refused(*(word.format(run) for word in READ_RUN[command]), culprit=NO_RUN[run])


# Each command -----------------------------------------------------------------------------------

TRAIN = ["train", "ngram", "--data", "good.txt", "--out", "new"]
EVALUATE = ["evaluate", "run", "--data", "good.txt"]
GENERATE = ["generate", "run", "--prompt", "the"]
SURPRISAL = ["surprisal", "run", "--text", "the cat"]

WRONG: list[tuple[list[str], str]] = [
    (["trian"], "trian"),
    (["--nothing"], "--nothing"),
    (["train", "ngram", "--out", "new"], "--data"),
    (["train", "ngram", "--data", "good.txt"], "--out"),
    (["train", "ngrm", *TRAIN[2:]], "unknown recipe 'ngrm'; did you mean 'ngram'"),
    (["train", "bad.toml", *TRAIN[2:]], "bad.toml: not a TOML file"),
    (["train", "value.toml", *TRAIN[2:]], "model=3: is a section"),
    (["train", "x" * 300, *TRAIN[2:]], "unknown recipe"),
    ([*TRAIN, "--set", "text.tokenizer=word"], "unknown tokenizer 'word'; did you mean 'words'"),
    ([*TRAIN, "--set", "text.vocabulary_size=9", "--set", "text.tokenizer=bytes"], "at least 256"),
    ([*TRAIN, "--set", "model.smoothing=laplac"], "unknown smoothing 'laplac'"),
    ([*TRAIN, "--set", "model.ordr=3"], "unknown setting model.ordr; did you mean 'order'"),
    ([*TRAIN, "--set", "modl.order=3"], "unknown section 'modl'; did you mean 'model'"),
    ([*TRAIN, "--set", "model.order=many"], "model.order='many'"),
    ([*TRAIN, "--set", "model.order=99"], "model.order=99"),
    ([*TRAIN, "--set", "model.cutoffs=1"], "model.cutoffs=1"),
    ([*TRAIN, "--set", "model.kind=3"], "unknown model '3'"),
    ([*TRAIN, "--set", "model=3"], "model=3"),
    ([*TRAIN, "--set", "model.order"], "'model.order'"),
    ([*TRAIN, "--seed", "x"], "--seed"),
    ([*TRAIN, "--nothing"], "--nothing"),
    ([*TRAIN, "one", "word", "more"], "one"),
    ([*TRAIN[:-1], "run"], "run: exists already; choose another --out or add --overwrite"),
    ([*TRAIN[:-1], "foreign", "--overwrite"], "foreign: is not an elman run"),
    ([*TRAIN[:-1], "good.txt", "--overwrite"], "good.txt: is not an elman run"),
    ([*TRAIN[:-1], "good.txt/new"], "good.txt/new: cannot be written"),
    ([*TRAIN[:-1], "."], "name a separate folder"),
    (["train", "ngram", "--data", "eos.txt", "--out", "new"], "line 1: the word '<eos>'"),
    (["evaluate", "run"], "--data"),
    (["evaluate", "--data", "good.txt"], "RUN"),
    ([*EVALUATE, "--split", "tst"], "has no 'tst' split, only train, valid, test"),
    ([*EVALUATE, "--with", "cahe"], "unknown adapter 'cahe'; did you mean 'cache'"),
    ([*EVALUATE, "--with", "cache:decy=1"], "unknown setting cache.decy; did you mean 'decay'"),
    ([*EVALUATE, "--with", "cache:decay"], "decay"),
    ([*EVALUATE, "--with", "cache:decay=x"], "cache.decay='x'"),
    ([*EVALUATE, "--with", "mix"], "mix: name the other run"),
    ([*EVALUATE, "--reset", "never"], "'never'"),
    ([*EVALUATE, "--batch-size", "x"], "--batch-size"),
    (["evaluate", "run", "--data", "eos.txt"], "line 1: the word '<eos>'"),
    ([*GENERATE, "--temperature", "-1"], "temperature is -1"),
    ([*GENERATE, "--temperature", "warm"], "--temperature"),
    ([*GENERATE, "--temperature", "nan"], "temperature is nan"),
    ([*GENERATE, "--top-p", "2"], "--top-p is 2"),
    ([*GENERATE, "--top-k", "0"], "--top-k is 0"),
    ([*GENERATE, "--max-tokens", "-1"], "--max-tokens is -1"),
    ([*GENERATE, "--max-tokens", "inf"], "--max-tokens"),
    ([*GENERATE, "--samples", "0"], "samples is 0"),
    ([*GENERATE, "--beam", "2", "--top-k", "3"], "beam search does not sample; leave out beam"),
    ([*GENERATE, "--seed", "-1"], "seed is -1"),
    ([*GENERATE, "--ban", "zebra"], "--ban zebra: this is not a single token"),
    ([*GENERATE, "--stop", ""], "empty stop sequence"),
    (["generate", "run", "--prompt", "the <eos> cat"], "the word '<eos>'"),
    (["generate", "run", "--prompt", "a \udcff"], "character 3 of the text is half a character"),
    ([*SURPRISAL, "--base", "7"], "--base 7: choose 2, e or 10"),
    (["surprisal", "run", "good.txt", "--text", "the"], "either a file or --text"),
    (["surprisal", "run"], "either a file or --text"),
    ([*SURPRISAL, "--reset", "never"], "'never'"),
    ([*SURPRISAL, "--with", "monte-carlo"], "needs a neural run"),
    (["surprisal", "run", "--text", "the <eos>"], "the word '<eos>'"),
    (["surprisal", "run", "--text", "\udcff"], "character 1 of the text is half a character"),
    (["surprisal", "run", "eos.txt"], "line 1: the word '<eos>'"),
    (["suggest", "run", "the", "--top", "0"], "--top is 0"),
    (["suggest", "run", "the", "--top", "few"], "--top"),
    (["suggest", "run", "the <eos>"], "the word '<eos>'"),
    (["compare", "--data", "good.txt"], "RUN"),
    (["compare", "run", "run"], "--data"),
    (["compare", "run", "run", "--data", "good.txt", "--split", "tst"], "no 'tst' split"),
    (["data", "gramar"], "did you mean 'grammar'"),
    (["data", "good.txt", "--write", "empty.txt"], "empty.txt: cannot create this folder"),
    (["list", "smoother"], "unknown kind 'smoother'; did you mean 'smoothers'"),
]


@pytest.mark.parametrize(("arguments", "culprit"), WRONG, ids=[" ".join(a)[-40:] for a, _ in WRONG])
def test_wrong_arguments(refused: Bad, arguments: list[str], culprit: str) -> None:
    refused(*arguments, culprit=culprit)


ARPA: list[tuple[list[str], str]] = [
    (["export", "run", "good.txt"], "good.txt: exists already"),
    (
        ["export", "run", "no/folder/new.arpa"],
        "no/folder/new.arpa: the folder no/folder does not exist",
    ),
    (["export", "run"], "PATH"),
    (["import", "missing.arpa", "--out", "new"], "missing.arpa: no such file"),
    (["import", "good.txt", "--out", "new"], "good.txt, line 1: not an ARPA file"),
    (["import", "empty.txt", "--out", "new"], "empty.txt"),
    (["import", "foreign", "--out", "new"], "foreign: is a folder"),
    (["import", "latin1.txt", "--out", "new"], "latin1.txt"),
    (["import", "nul.txt", "--out", "new"], "nul.txt"),
    (["import", "plain.txt.gz", "--out", "new"], "plain.txt.gz"),
    (["import", "good.txt"], "--out"),
]


@pytest.mark.parametrize(("arguments", "culprit"), ARPA, ids=[" ".join(a) for a, _ in ARPA])
def test_wrong_arguments_for_arpa_files(refused: Bad, arguments: list[str], culprit: str) -> None:
    refused(*arguments, culprit=culprit)


# As a program -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["evaluate", "run", "--data", "latin1.txt"], b"latin1.txt, line 1: byte 0xE0"),
        (["surprisal", "run", "--text", b"\xff"], b"half a character"),
        (["surprisal", "run", "--", "-"], b"there is no text on standard input"),
        (["surprisal", "run", "-"], b"there is no text on standard input"),
    ],
)
def test_the_program_says_one_line_and_exits_with_2(
    place: Path, arguments: list[str | bytes], culprit: bytes
) -> None:
    command = [sys.executable, "-m", "elman", *arguments]
    result = subprocess.run(
        command, cwd=place, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    assert result.returncode == 2
    assert result.stdout == b""
    assert result.stderr.startswith(b"elman: ")
    assert result.stderr.count(b"\n") == 1
    assert culprit in result.stderr
