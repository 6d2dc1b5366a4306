"""Optional packages: a missing one is reported with the command that installs it."""

import sys
import tomllib
from pathlib import Path

import pytest

from elman.errors import InputError
from elman.extras import REQUIREMENTS, import_extra

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("module", REQUIREMENTS)
def test_a_missing_package_is_reported_with_its_installation(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError) as caught:
        import_extra(module, "x.txt: needs it")
    assert str(caught.value) == f"x.txt: needs it: pip install {REQUIREMENTS[module]}"


def test_a_part_of_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"pip install 'elman\[data\]'"):
        import_extra("pyarrow.parquet", "x.parquet: needs pyarrow")


@pytest.mark.parametrize("module", [m for m in REQUIREMENTS if "elman[" in REQUIREMENTS[m]])
def test_the_extra_of_elman_has_the_package(module: str) -> None:
    extra = REQUIREMENTS[module].removeprefix("'elman[").removesuffix("]'")
    assert any(each.startswith(f"{module}>=") for each in PROJECT["optional-dependencies"][extra])


def test_an_installed_module_is_given() -> None:
    assert import_extra("json", "impossible") is sys.modules["json"]
