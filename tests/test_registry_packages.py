"""Components from entry points: found by name, refused if names clash."""

import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from elman.cli.list import KINDS
from elman.errors import InputError
from elman.registry import Registry, origins

Install = Callable[..., None]
THING = "class Thing:\n    about = 'a thing'\n"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a package with a module and entry points on the path, as pip would."""

    def put(package: str, group: str, points: str, code: str = THING) -> None:
        place = tmp_path / package
        metadata = place / f"{package}-0.1.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1")
        (metadata / "entry_points.txt").write_text(f"[elman.{group}]\n{points}\n")
        (place / f"{package}_module.py").write_text(code)
        monkeypatch.syspath_prepend(str(place))

    return put


def things(group: str = "test_things") -> Registry:
    return Registry("thing", {"date": "datetime:date"}, group=group)


def test_a_package_brings_a_name(install: Install) -> None:
    install("one", "test_things", "mine = one_module:Thing")
    registry = things()
    assert "mine" in registry
    assert "one_module" not in sys.modules, "a name costs no import"
    assert [*registry] == ["date", "mine"]
    assert registry.choose("mine").about == "a thing"
    assert registry["mine"] is registry["mine"]


def test_other_groups_are_not_read(install: Install) -> None:
    install("two", "test_others", "mine = two_module:Thing")
    assert "mine" not in things()
    assert "mine" not in Registry("thing", {})


def test_a_built_in_name_is_not_taken(install: Install) -> None:
    import datetime

    install("three", "test_things", "date = three_module:Thing")
    registry = things()
    assert registry["date"] is datetime.date
    message = "^three 0.1 provides a thing 'date', but so does elman; rename it there, or uninstall"
    with pytest.raises(InputError, match=message):
        len(registry)
    with pytest.raises(InputError, match=message):
        registry.check("unknown")
    with pytest.raises(InputError, match="the thing 'date' is built in; choose another name"):
        registry["date"] = int


def test_two_packages_with_one_name_are_refused(install: Install) -> None:
    install("four", "test_things", "mine = four_module:Thing")
    install("five", "test_things", "mine = five_module:Thing")
    with pytest.raises(InputError, match=r"(four|five) 0.1 provides .* so does (four|five) 0.1;"):
        things().choose("mine")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError"),
        ("raise ValueError('a\\nb')", "ValueError: a b"),
        ("", "AttributeError"),
    ],
)
def test_a_broken_package_is_one_line(
    install: Install, monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    monkeypatch.delitem(sys.modules, "six_module", raising=False)
    install("six", "test_things", "mine = six_module:Thing", code)
    with pytest.raises(InputError, match=f"^the thing 'mine' of six 0.1 cannot .*{said}") as error:
        things().choose("mine")
    assert "\n" not in str(error.value)


def test_origins_say_which_names_are_not_our_own(install: Install) -> None:
    install("seven", "test_things", "brought = seven_module:Thing")
    registry = things()
    settings = {"a": {"b": ["date", "brought", 3]}, "c": "added"}
    assert origins(settings) == {}, "nobody has asked for one"
    registry["added"] = int
    registry.check("brought")
    found = origins(settings)
    assert found == {"thing brought": "seven 0.1", "thing added": ""}
    registry["brought"] = int
    assert origins("brought") == {"thing brought": ""}, "it is no longer the package's"


def test_what_python_adds_may_be_added_again() -> None:
    registry = things()
    registry["mine"] = int
    registry["mine"] = float
    assert registry["mine"] is float
    assert "mine" in [*registry]


def test_every_kind_can_be_brought() -> None:
    other = {"tag-outputs": "tag_outputs"}
    for kind, place in KINDS.items():
        module, _, name = place.partition(":")
        registry = getattr(import_module(module), name)
        # Transforms of decoding come from no other package: they are flags of every command.
        if isinstance(registry, Registry) and kind != "transforms":
            assert registry.group == f"elman.{other.get(kind, kind)}"


def test_help_reads_the_entry_points_of_tasks_only() -> None:
    """A task from another package brings a command."""
    program = (
        "import sys, contextlib\n"
        "from elman.entry_points import _entry_points\n"
        "from elman.cli import main\n"
        "sys.argv = ['elman', '--help']\n"
        "with contextlib.suppress(SystemExit): main()\n"
        "from elman.cells import CELLS\n"
        "assert 'lstm' in CELLS\n"
        "assert _entry_points.cache_info().misses == 1\n"
        "'nothing' in CELLS\n"
        "assert _entry_points.cache_info().misses == 2\n"
        "assert 'torch' not in sys.modules\n"
        "assert 'importlib.metadata' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_egg_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older form of installation."""
    metadata = tmp_path / "six.egg-info"
    metadata.mkdir()
    (metadata / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: six\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text("[elman.test_things]\nmine = six_module:Thing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "mine" in things()


def test_a_zip_file_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "seven.zip", "w") as file:
        folder = "seven-0.1.dist-info"
        file.writestr(f"{folder}/METADATA", "Metadata-Version: 2.1\nName: seven\nVersion: 0.1")
        file.writestr(f"{folder}/entry_points.txt", "[elman.test_things]\nmine = seven:Thing\n")
        file.writestr("seven.py", THING)
    monkeypatch.syspath_prepend(str(tmp_path / "seven.zip"))
    assert things()["mine"].about == "a thing"
