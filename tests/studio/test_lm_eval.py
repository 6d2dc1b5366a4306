"""lm-eval's `local-completions` works against the server, with the server's own tokenizer."""

import math
import warnings
from typing import Any

import pytest
from live import running

from elman.studio.served import Served

PAIRS = [("the cat", " sees"), ("the cat sees a", " dog"), ("a", " bird"), ("the", " the")]


@pytest.fixture
def harness() -> Any:
    """The class, without the warnings of what it is made of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("lm_eval", reason="needs lm-eval: pip install 'lm-eval[api]'")
        pytest.importorskip("tenacity", reason="needs lm-eval: pip install 'lm-eval[api]'")
        from lm_eval.api.instance import Instance
        from lm_eval.models.openai_completions import LocalCompletionsAPI

        yield LocalCompletionsAPI, Instance


@pytest.mark.parametrize("model", ["words", "network"])
def test_likelihoods_are_those_of_the_model(harness: Any, served: Served, model: str) -> None:
    completions, instance = harness
    trained = served.find(model).trained
    only = Served([served.find(model)])
    with running(only) as address:
        client = completions(
            base_url=f"{address}/v1/completions", model=model, tokenizer_backend="auto",
            max_retries=1,
        )  # fmt: skip
        assert client.tokenizer_backend == "remote"
        asked = [instance("loglikelihood", {}, pair, i) for i, pair in enumerate(PAIRS)]
        found = client.loglikelihood(asked)
        text = instance("loglikelihood_rolling", {}, ("the cat sees a dog .\n",), 0)
        (rolling,) = client.loglikelihood_rolling([text])
        until = {"until": ["."], "max_gen_toks": 20, "temperature": 0}
        (written,) = client.generate_until([instance("generate_until", {}, ("the", until), 0)])
    for (context, continuation), (log_prob, is_greedy) in zip(PAIRS, found, strict=True):
        whole = trained.surprisal(context + continuation, base=math.e)
        assert log_prob == pytest.approx(-whole[-1].surprisal, rel=1e-6)
        assert is_greedy == (whole[-1].rank == 1)
    words = trained.surprisal("\nthe cat sees a dog .\n", base=math.e, reset="stream")[1:]
    expected = (
        words if model == "network" else trained.surprisal("the cat sees a dog .\n", base=math.e)
    )
    assert rolling == pytest.approx(-sum(word.surprisal for word in expected), rel=1e-6)
    (said,) = trained.generate("the", greedy=True, stop=[".", "\n"], max_tokens=20)
    assert written == said.continuation
