"""Registries: lookup, refusal with the nearest name, lazy imports."""

import subprocess
import sys

import pytest

from elman.errors import InputError
from elman.registry import Registry


def words() -> Registry:
    return Registry("thing", {"date": "datetime:date", "json": "json", "given": int})


def test_a_place_is_imported_and_an_object_stands_for_itself() -> None:
    import datetime
    import json

    registry = words()
    assert registry["date"] is datetime.date
    assert registry["json"] is json
    assert registry["given"] is int
    assert registry.choose("date") is datetime.date
    assert [*registry] == ["date", "json", "given"]
    assert len(registry) == 3


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"^unknown thing 'dat'; did you mean 'date'\?$"):
        words().choose("dat")
    with pytest.raises(InputError, match="unknown thing"):
        words().check("")
    with pytest.raises(KeyError):
        words()["dat"]


def test_others_can_add_their_own() -> None:
    registry = words()
    registry["mine"] = "fractions:Fraction"
    assert registry.choose("mine")(1, 2) == 0.5
    del registry["mine"]
    assert "mine" not in registry


def test_each_says_what_it_is() -> None:
    class Described:
        about = "a thing"

    assert Registry("thing", {"one": Described}).abouts() == {"one": "a thing"}


def test_names_cost_no_import() -> None:
    program = (
        "import sys; from elman.models import MODELS; from elman.cells import CELLS; "
        "assert 'recurrent' in MODELS and 'lstm' in CELLS and len([*CELLS]) > 9; "
        "CELLS.check('lstm'); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
