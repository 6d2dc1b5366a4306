"""Agreement with other programs on 10,000 words: KenLM, transformers, minicons and plain torch.

    python benchmarks/agreement.py PENN_TREEBANK_FOLDER
    python benchmarks/agreement.py TEXT_OF_THE_RUN LSTM_RUN

Trains a 5-gram model and opens a small GPT-2 with random weights (nothing is downloaded). Each row
compares elman with another program, word by word: the largest difference in nats. minicons and
transformers read the same weights; KenLM reads the exported ARPA file. With a run of a word LSTM,
only that run is compared, on a text tokenized like its training text: its weights are copied into
torch.nn.LSTM and torch.nn.Linear, in double precision, which read the same text word by word.
"""

import json
import math
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

import elman
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load

WORDS = 10_000


def read_lines(data: Path) -> list[str]:
    """Lines of the test text with 10,000 words together."""
    lines, words = [], 0
    file = data / "ptb.test.txt" if data.is_dir() else data
    for line in file.read_text().splitlines():
        if line.split():
            lines.append(" ".join(line.split()))
            words += len(line.split())
        if words >= WORDS:
            break
    return lines


def with_kenlm(data: Path, place: Path, lines: list[str]) -> tuple[int, float]:
    import kenlm

    counts = elman.train("ngram", data=str(data), kind=TrainedModel)
    counts.export(place / "kn5.arpa")
    theirs = kenlm.Model(str(place / "kn5.arpa"))
    ours = counts.surprisal_table(lines, base=math.e, entropy=False).surprisal.to_numpy()
    scores = [
        -score * math.log(10)
        for line in lines
        for score, _, _ in [*theirs.full_scores(line, bos=True, eos=True)][:-1]
    ]
    return len(ours), float(np.abs(ours - np.array(scores)).max())


def make_gpt2(place: Path, text: str) -> Path:
    """A GPT-2 of random weights with a byte-level tokenizer of 2,000 tokens."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.post_processor = processors.ByteLevel(trim_offsets=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    end = "<|endoftext|>"
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=[end], initial_alphabet=alphabet, show_progress=False
    )
    library.train_from_iterator([text], trainer)
    torch.manual_seed(1)
    config = transformers.GPT2Config(
        vocab_size=2000, n_positions=512, n_embd=64, n_layer=3, n_head=4,
        bos_token_id=0, eos_token_id=0, initializer_range=0.1,
    )  # fmt: skip
    transformers.GPT2LMHeadModel(config).eval().save_pretrained(place)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=library, bos_token=end, eos_token=end, unk_token=end
    )
    fast.save_pretrained(place)
    return place


def with_transformers(folder: Path, model: TrainedModel, lines: list[str]) -> tuple[int, float]:
    """The loss of transformers, line by line."""
    import transformers

    module = transformers.AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32)
    fast = transformers.AutoTokenizer.from_pretrained(str(folder))
    table = model.surprisal_table(lines, base=math.e, entropy=False)
    ours = table.groupby("sentence").surprisal_uncorrected.sum().to_numpy()
    tokens = table.groupby("sentence").tokens.sum().to_numpy(dtype=float)
    theirs = []
    with torch.no_grad():
        for line in lines:
            ids = torch.tensor([[0, *fast(line, add_special_tokens=False)["input_ids"]]])
            theirs.append(float(module.eval()(input_ids=ids, labels=ids).loss))
    return len(table), float(np.abs(ours / tokens - np.array(theirs)).max())


def with_minicons(folder: Path, model: TrainedModel, lines: list[str]) -> list[tuple[str, float]]:
    """Words of minicons, with and without its correction of word boundaries.

    Its boundaries are tokens that begin with a space. Ours are also `<eos>` and tokens that begin
    with a tab or other white space, so the corrected words are compared twice: with our boundaries,
    and with its boundaries, which leave the last word of a line without an end for us.
    """
    import transformers
    from minicons import scorer

    module = transformers.AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32)
    fast = transformers.AutoTokenizer.from_pretrained(str(folder))
    theirs = scorer.IncrementalLMScorer(module.eval(), "cpu", tokenizer=fast)
    begins = np.zeros(len(model.tokenizer), dtype=bool)
    begins[theirs.bow_subword_idx] = True
    found = []
    for column, corrects, boundaries in (
        ("surprisal_uncorrected", False, "our"),
        ("surprisal", True, "our"),
        ("surprisal", True, "its"),
    ):
        if boundaries == "its":
            model.tokenizer.__dict__["begins_word"] = begins
        table = model.surprisal_table(lines, base=math.e, entropy=False)
        scores = []
        for line in lines:
            (words,) = theirs.word_score_tokenized(
                line, str.split, bow_correction=corrects, bos_token=True, surprisal=True
            )
            scores.append([score for _, score in words])
        ours = [group.tolist() for _, group in table.groupby("sentence")[column]]
        inner = [
            abs(a - b)
            for one, other in zip(ours, scores, strict=True)
            for a, b in zip(one[:-1], other[:-1], strict=True)
        ]
        last = [abs(one[-1] - other[-1]) for one, other in zip(ours, scores, strict=True)]
        found += [(f"{column}, {boundaries} boundaries, words within lines", max(inner))]
        if boundaries == "our":
            found += [(f"{column}, {boundaries} boundaries, last words", max(last))]
    return found


def make_torch(run: Path) -> tuple[torch.nn.Embedding, torch.nn.LSTM, torch.nn.Linear]:
    """Modules of torch with the weights of a run, read from its file of weights."""
    (file,) = run.glob("weights*.safetensors")
    arrays = {name: array.double() for name, array in load_file(file).items()}
    table = arrays["input.weight"]  # also the weights of the output
    layers = sum(name.endswith("gates_bias") for name in arrays)
    size = arrays["stack.layers.0.directions.0.weights.gates_state"].shape[1]
    lstm = torch.nn.LSTM(table.shape[1], size, layers, batch_first=True).double()
    for layer in range(layers):
        own = f"stack.layers.{layer}.directions.0.weights.gates_"
        getattr(lstm, f"weight_ih_l{layer}").data.copy_(arrays[f"{own}input"])
        getattr(lstm, f"weight_hh_l{layer}").data.copy_(arrays[f"{own}state"])
        getattr(lstm, f"bias_ih_l{layer}").data.copy_(arrays[f"{own}bias"])
        getattr(lstm, f"bias_hh_l{layer}").data.zero_()
    linear = torch.nn.Linear(size, len(table)).double()
    linear.weight.data.copy_(table)
    linear.bias.data.copy_(arrays["output.bias"])
    return torch.nn.Embedding.from_pretrained(table), lstm, linear


def with_torch(run: Path, lines: list[str]) -> tuple[int, float]:
    """Plain torch, one word at a time: the line end first, then each word."""
    embedding, lstm, linear = make_torch(run)
    model = load(str(run), TrainedModel)
    table = model.surprisal_table(lines, base=math.e, entropy=False)
    ours = table.surprisal.to_numpy()
    numbers = {token: number for number, token in enumerate(model.tokenizer.tokens)}
    if (table.tokens != 1).any():
        raise SystemExit("some words have several tokens; give a text tokenized like the run's")
    theirs = []
    with torch.no_grad():
        for line in lines:
            word, state = numbers["<eos>"], None
            for following in line.split():
                hidden, state = lstm(embedding(torch.tensor([[word]])), state)
                word = numbers.get(following, numbers["<unk>"])
                theirs.append(-float(linear(hidden[0, 0]).log_softmax(0)[word]))
    return len(ours), float(np.abs(ours - np.array(theirs)).max())


def main() -> None:
    data = Path(sys.argv[1])
    lines = read_lines(data)
    if len(sys.argv) > 2:
        count, apart = with_torch(Path(sys.argv[2]), lines)
        print(json.dumps({"compared": f"torch, {count:,} words", "largest difference": apart}))
        return
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        rows: list[tuple[str, float]] = []
        count, apart = with_kenlm(data, place, lines)
        rows.append((f"KenLM, {count:,} words", apart))
        folder = make_gpt2(place / "gpt2", (data / "ptb.valid.txt").read_text())
        model = load(f"hf:{folder}", TrainedModel)
        count, apart = with_transformers(folder, model, lines)
        rows.append((f"transformers, loss per token, {count:,} words", apart))
        rows += [
            (f"minicons, {what}", apart) for what, apart in with_minicons(folder, model, lines)
        ]
    for what, apart in rows:
        print(json.dumps({"compared": what, "largest difference in nats": apart}))


if __name__ == "__main__":
    main()
