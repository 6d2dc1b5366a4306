"""The runs of a folder: list, growing histories, comparable groups."""

import json
import math
import shutil
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from elman.errors import InputError
from elman.runs.lock import is_being_trained, only_writer
from elman.studio.app import build
from elman.studio.served import load_served
from elman.training.history import read_history

ADDRESS = "http://127.0.0.1:8000"


def test_every_run_is_listed(client: TestClient) -> None:
    data = {run["name"]: run for run in client.get("/v1/runs").json()["data"]}
    assert set(data) == {"words", "network", "letters"}
    network = data["network"]
    assert network["kind"] == "recurrent"
    assert network["served"] == "network"
    assert network["training"] is False
    assert network["finished"] is True
    assert network["validation"]["perplexity"] > 1
    assert network["records"] > 0
    assert data["words"]["records"] == 0


def test_a_history_comes_from_where_one_was(client: TestClient, runs: Path) -> None:
    records = read_history(runs / "network")
    data = client.get("/v1/runs/network").json()
    assert data == {
        "name": "network", "training": False, "records": records, "next": len(records)
    }  # fmt: skip
    assert client.get("/v1/runs/network?since=1").json()["records"] == records[1:]
    assert client.get("/v1/runs/network?since=9999").json()["records"] == []
    assert client.get("/v1/runs/network?since=-1").status_code == 400
    assert client.get("/v1/runs/data").status_code == 404
    assert client.get("/v1/runs/nothing").json()["error"]["type"] == "not_found_error"


def test_a_training_is_seen_growing(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "network", tmp_path / "series" / "first")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{}")
    served = load_served([str(runs / "words")])
    with TestClient(build(served, runs=tmp_path), base_url=ADDRESS) as client:
        (run,) = client.get("/v1/runs").json()["data"]  # of the broken one nothing is said
        assert run["name"] == "series/first"
        assert run["served"] is None
        before = client.get("/v1/runs/series/first").json()["next"]
        with only_writer(tmp_path / "series" / "first"):
            with (tmp_path / "series" / "first" / "history.jsonl").open("a") as file:
                file.write(json.dumps({"epoch": 99, "gradient_norm": float("inf")}) + "\n")
            data = client.get(f"/v1/runs/series/first?since={before}").json()
        assert data["training"] is True
        assert data["records"] == [{"epoch": 99, "gradient_norm": None}]
        assert client.get("/v1/runs/series/first").json()["training"] is False


def test_without_a_folder_there_are_none(runs: Path) -> None:
    served = load_served([str(runs / "words")])
    with TestClient(build(served), base_url=ADDRESS) as client:
        assert client.get("/v1/runs").json()["data"] == []


def test_a_lock_says_who_trains(tmp_path: Path) -> None:
    assert not is_being_trained(tmp_path)
    with only_writer(tmp_path):
        assert is_being_trained(tmp_path)
        with pytest.raises(InputError), only_writer(tmp_path):
            pass
    assert not is_being_trained(tmp_path)


def test_only_what_was_measured_alike_stands_in_one_group(client: TestClient) -> None:
    groups = client.get("/v1/ladder").json()["groups"]
    by_unit: dict[str, list[str]] = {}
    for group in groups:
        assert group["measure"] == "perplexity"
        assert group["data"] == "data"  # the folder's name, not where it lies
        values = [row["value"] for row in group["rows"]]
        assert values == sorted(values)
        by_unit.setdefault(group["unit"], []).extend(row["name"] for row in group["rows"])
    assert by_unit["characters"] == ["letters"]
    assert sorted(by_unit["words"]) == ["network", "words"]
    assert "/" not in json.dumps(groups)


def test_bits_per_byte_compare_tokens_of_every_kind(client: TestClient, runs: Path) -> None:
    rows = [row for group in client.get("/v1/ladder").json()["groups"] for row in group["rows"]]
    found = {row["name"]: row["bits_per_byte"] for row in rows}
    facts = json.loads((runs / "words" / "facts.json").read_text())
    tokens, size = facts["data"]["valid_tokens"], facts["data"]["valid_bytes"]
    assert size == len((runs / "data" / "valid.txt").read_bytes())
    expected = math.log2(facts["validation"]["perplexity"]) * tokens / size
    assert found["words"] == pytest.approx(expected)
    assert all(0 < bits < 8 for bits in found.values())
