"""A run as a Hugging Face folder: transformers computes and generates as elman does."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import write_sentences

import elman
from elman.errors import InputError
from elman.formats.huggingface import modelling_file

pytestmark = pytest.mark.filterwarnings("ignore")  # those of transformers are not ours
SMALL = ["model.embedding_size=8", "training.epochs=1", "training.min_steps=0"]
RUNS = {
    "lstm": ("quick", [*SMALL, "model.hidden_size=8"]),
    "gru-line-bpe": (
        "quick",
        [
            *SMALL,
            "model.hidden_size=8",
            "model.cell=gru",
            "model.context=line",
            "text.tokenizer=bpe",
            "text.vocabulary_size=300",
        ],
    ),
    "window": ("bengio", [*SMALL, "model.hidden_size=8", "text.tokenizer=characters"]),
    "ngram": ("ngram", ["text.tokenizer=raw-words"]),
}
TEXT = "the cat hears a dog .\nthe bird sees"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("huggingface")
    write_sentences(folder / "data")
    return folder


def exported(place: Path, name: str) -> Path:
    """The folder of a run, which is trained when a test first asks for it."""
    folder = place / f"{name}-hub"
    if not folder.exists():
        recipe, settings = RUNS[name]
        data = str(place / "data")
        run = elman.train(recipe, data=data, out=place / name, overrides=settings)
        run.export(folder, "huggingface")
    return folder


@pytest.fixture(params=RUNS)
def both(request: pytest.FixtureRequest, place: Path) -> tuple[Any, Any, Any]:
    """The run, and the model and the tokenizer of its folder."""
    transformers = pytest.importorskip("transformers")
    folder, trust = exported(place, request.param), {"trust_remote_code": True}
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, **trust).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **trust)
    return elman.load(place / request.param), model, tokenizer


def log_probs(model: Any, ids: list[list[int]], **more: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor(ids), **more).logits.log_softmax(-1)


def test_log_probabilities_are_those_of_elman(both: tuple[Any, Any, Any]) -> None:
    run, model, tokenizer = both
    ids = tokenizer(TEXT).input_ids
    assert ids == run.tokenizer.encode(TEXT).tolist()
    expected, _ = run.model.predict_all(torch.tensor([ids]), run.model.start(1))
    for first in (tokenizer.bos_token_id, run.tokenizer.eos_id):
        found = log_probs(model, [[first, *ids]])[:, :-1, : len(run.tokenizer)]
        torch.testing.assert_close(found, expected.float(), atol=1e-5, rtol=0)
    found = log_probs(model, [ids])[:, :-1, : len(run.tokenizer)]  # without a first token
    torch.testing.assert_close(found, expected[:, 1:].float(), atol=1e-5, rtol=0)


def test_padding_on_either_side_changes_nothing(both: tuple[Any, Any, Any]) -> None:
    _, model, tokenizer = both
    ids = tokenizer("the cat hears").input_ids
    alone = log_probs(model, [ids])
    other = tokenizer(TEXT).input_ids[: len(ids) + 4]
    pads = [tokenizer.pad_token_id] * (len(other) - len(ids))
    for row, mask, part in (
        (pads + ids, [0] * len(pads) + [1] * len(ids), slice(len(pads), None)),
        (ids + pads, [1] * len(ids) + [0] * len(pads), slice(0, len(ids))),
    ):
        both_masks = torch.tensor([mask, [1] * len(other)])
        found = log_probs(model, [row, other], attention_mask=both_masks)[:1, part]
        torch.testing.assert_close(found, alone, atol=1e-5, rtol=0)


def test_generating_from_a_state_gives_the_same_text(both: tuple[Any, Any, Any]) -> None:
    run, model, tokenizer = both
    prompts = tokenizer(
        ["the cat", "the bird sees a"], return_tensors="pt", padding=True, padding_side="left"
    )
    options: dict[str, Any] = {"max_new_tokens": 8, "do_sample": False, "eos_token_id": 10**9}
    by_state = model.generate(**prompts, **options)
    assert by_state.tolist() == model.generate(**prompts, **options, use_cache=False).tolist()
    beams = model.generate(**prompts, **options, num_beams=3)
    again = model.generate(**prompts, **options, num_beams=3, use_cache=False)
    assert beams.tolist() == again.tolist()
    start = torch.from_numpy(run.tokenizer.encode("the cat"))[None]
    state = run.model.read(start, run.model.start(1))
    for chosen in by_state[0, prompts.input_ids.shape[1] :].tolist():
        log_probs = run.model.predict(state)[0]
        assert log_probs[chosen] >= log_probs.max() - 1e-5
        state = run.model.read(torch.tensor([[chosen]]), state)


def test_a_model_of_lines_stops_at_the_end_of_a_line(place: Path) -> None:
    for name, ends in {"gru-line-bpe": True, "lstm": False}.items():
        config = json.loads((exported(place, name) / "generation_config.json").read_text())
        assert ("eos_token_id" in config) == ends


def test_the_pipeline_continues_a_text(both: tuple[Any, Any, Any]) -> None:
    import transformers

    _, model, tokenizer = both
    pipe = transformers.pipeline("text-generation", model=model, tokenizer=tokenizer)
    (found,) = pipe("the cat hears", max_new_tokens=6, do_sample=False)
    text = found["generated_text"]
    assert text.startswith("the cat hears")
    assert len(text) > len("the cat hears")


def test_a_folder_needs_no_elman(place: Path) -> None:
    pytest.importorskip("transformers")
    script = (
        "import sys; sys.modules['elman'] = None\n"
        "import transformers\n"
        "folder = sys.argv[1]\n"
        "load = transformers.AutoModelForCausalLM.from_pretrained\n"
        "model = load(folder, trust_remote_code=True)\n"
        "import torch; print(tuple(model(torch.tensor([[1, 2]])).logits.shape))\n"
    )
    command = [sys.executable, "-c", script, str(exported(place, "lstm"))]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("(1, 2, ")


def test_the_modelling_file_does_not_import_elman() -> None:
    text = modelling_file()
    assert "import elman" not in text
    assert "from elman" not in text
    compile(text, "modeling_elman.py", "exec")


def test_the_card_names_the_data(place: Path) -> None:
    card = (exported(place, "lstm") / "README.md").read_text()
    assert f"trained on: `{place / 'data'}`" in card
    assert "license: unknown" in card


def test_a_folder_with_files_is_kept(place: Path, tmp_path: Path) -> None:
    exported(place, "ngram")
    run = elman.load(place / "ngram")
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        run.export(tmp_path, "huggingface")
    run.export(tmp_path, "huggingface", overwrite=True)
    assert (tmp_path / "mine.txt").read_text() == "precious"
    assert (tmp_path / "config.json").exists()


def test_other_runs_are_refused_with_the_reason(place: Path, tmp_path: Path) -> None:
    pointing = ["model.output=pointer", *RUNS["lstm"][1]]
    run = elman.train("quick", data=str(place / "data"), overrides=pointing)
    with pytest.raises(InputError, match="looks back at recent words"):
        run.export(tmp_path / "x", "huggingface")
    assert not (tmp_path / "x").exists()
