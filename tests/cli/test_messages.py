"""Wrong input and interruptions: one clear line."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("study regimes teacher", "unknown regime 'teacher'; did you mean 'teacher-forcing'?"),
        ("study regimes teacher-forcing:final=1", "unknown option 'final' of the regime"),
        ("study regimes --seeds 0", "--seeds 0: must be at least 1"),
        ("study regimes --sentences 3", "--sentences 3: must be at least 50"),
        (
            "evaluate nowhere --data data",
            "no such run; train one with: elman train RECIPE",
        ),
        ("suggest nowhere the", "elman train ngram --data … --out nowhere"),
        ("classify nowhere --text x", "elman train classifier --data … --out nowhere"),
        ("tag nowhere --text x", "elman train tagger --data … --out nowhere"),
        ("translate nowhere --text x", "elman train translator --data … --out nowhere"),
        ("nearest nowhere x", "elman train word2vec --data … --out nowhere"),
        (
            "embed nowhere --text x",
            "--data … --out nowhere (elman list recipes)",
        ),
        ("evaluate words --data data --after x", "need --accuracy; give it too"),
        ("evaluate letters --data data --accuracy --after the", "'the': is not a single token"),
        ("evaluate letters --data data --accuracy --until t", "give both"),
        ("evaluate words --data nowhere", "nowhere: no such file, folder or built-in corpus"),
        ("evaluate words", "data"),
        ("evaluate words --data data --split best", "no 'best' split"),
        ("evaluate words --data data --reset word", "reset='word'"),
        ("evaluate words --data data --batch-size 0", "batch_size=0"),
        ("evaluate words --data data --window -1", "window=-1"),
        ("evaluate words --data data --with cash", "did you mean 'cache'"),
        ("evaluate words --data data --with mix:run=letters", "the vocabularies differ"),
        ("train ngarm --data data --out x", "did you mean 'ngram'"),
        ("generate words --top-p 2", "--top-p is 2.0"),
        ("generate words --temperature hot", "temperature"),
        ("generate words --prompt the --beam 2 --samples 2", "does not sample; use n_best"),
        ("generate words --ban zebra", "--ban zebra: this is not a single token"),
        ("generate letters --ban cat", "--ban cat: this is not a single token"),
        ("generate words --max-tokens -1", "--max-tokens is -1"),
        ("suggest words the --top 0", "--top is 0"),
        ("surprisal words", "either a file or --text, not both or neither; - is standard input"),
        ("surprisal words data/test.txt --text the", "either a file or --text"),
        ("surprisal words --text the --base 3", "choose 2, e or 10"),
        ("surprisal words --text the --with dynamic", "needs a neural run"),
        ("surprisal words nowhere.txt", "no such file"),
        ("surprisal words --txet the", "--txet"),
        ("import nowhere.arpa --out x", "nowhere.arpa"),
        ("list tokenisers", "did you mean 'tokenizers'"),
        ("data nowhere", "no such file"),
        ("data --write new", "elman data NAME --write FOLDER"),
        ("trian ngram", "unknown command 'trian'; did you mean 'train'?"),
        ("evaluate --data data", "RUN is missing (elman evaluate --help"),
        ("evaluate words --with cache", "--data is missing (elman evaluate --help"),
        ("evaluate words --dta data", "did you mean --data instead of --dta?"),
        ("evaluate words --data", "--data needs a value"),
        ("suggest words the cat", "too many arguments: cat; put quotes around"),
        ("train ngram --data data", "--out is missing (elman train --help"),
        ("surprisal words --text ", "--text is empty"),
        ("explain words --text ", "--text is empty"),
        ("export words data", "data: is a folder; name a file"),
        ("import data/test.txt --out words", "words: exists already"),
        ("reproduce ptb --budget -3m", "--budget -3m: write a time like"),
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

    monkeypatch.setattr("elman.cli.ask.load", interrupt)
    result = call("suggest", "words", "the")
    assert (result.code, result.err) == (130, "elman: stopped\n")
