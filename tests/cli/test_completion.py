"""`elman completion`: the scripts are valid, and the one of bash completes commands and options."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from elman.cli import command_names, run
from elman.recipes import shipped_names

SHELLS = ("bash", "zsh", "fish")
# Calls the completion function as bash does after a Tab, and prints what it offers.
TAB = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_elman
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The script of each shell, in a file."""
    folder = tmp_path_factory.mktemp("scripts")
    found = {}
    for shell in SHELLS:
        found[shell] = folder / shell
        with pytest.MonkeyPatch.context() as patched, found[shell].open("w") as file:
            patched.setattr("sys.stdout", file)
            assert run(["completion", shell]) == 0
    return found


def bash(*arguments: str) -> str:
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    done = subprocess.run(["bash", "--norc", *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["tr"], {"train", "translate"}),
        (["study", "v"], {"vary"}),
        (["train", "--o"], {"--out", "--overwrite"}),
        (["generate", "runs/mine", "--top"], {"--top-k", "--top-p"}),
        (["suggest", "--to"], {"--top"}),  # a command that is made from a question
        (["train", "qu"], {"quick"}),
        (["plan", "zaremba-s"], {"zaremba-small"}),
        (["completion", ""], {*SHELLS}),
        (["evaluate", "runs/"], {""}),  # nothing, so bash offers file names
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bash_completes(scripts: dict[str, Path], words: list[str], offered: set[str]) -> None:
    shown = bash("-c", TAB, "bash", str(scripts["bash"]), "elman", *words)
    assert {*shown.removesuffix("\n").split("\n")} == offered


def test_bash_offers_file_names_where_nothing_else_fits(scripts: dict[str, Path]) -> None:
    bash("-n", str(scripts["bash"]))
    shown = bash("-c", 'source "$1"; complete -p elman', "bash", str(scripts["bash"]))
    assert shown == "complete -o default -F _elman elman\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_in_every_script(scripts: dict[str, Path], shell: str) -> None:
    script = scripts[shell].read_text()
    for word in {word for name in command_names() for word in name.split()}:
        assert re.search(rf"(?<![\w-]){word}(?![\w-])", script), word
    for name in (*shipped_names(), "overwrite", "max-tokens", "budget"):
        assert name in script


def test_zsh_offers_file_names_for_texts(scripts: dict[str, Path]) -> None:
    script = scripts["zsh"].read_text()
    assert "'1:A run folder.:_files'" in script
    assert "'*--out[The run folder to write.]:out:_files'" in script
    assert "'1: :->cmds'" in script  # the place of a command stays
    assert "'--json[Print the result as JSON.]'" in script  # a flag has no value
    specs = re.findall(r"^ +'(?:\*--[\w-]+\[|\d+:|\*:).*", script, re.MULTILINE)
    assert len(specs) > 100
    assert [spec for spec in specs if not re.search(r":(_files|->\w+)'( \\)?$", spec)] == []


def test_zsh_can_load_it_both_ways(scripts: dict[str, Path]) -> None:
    script = scripts["zsh"].read_text()
    (function,) = re.findall(r"^(\w+)\(\) \{$", script, re.MULTILINE)
    assert script.startswith("#compdef elman\n")
    assert f'= "_elman" ]; then\n  {function} "$@"\nelse\n  compdef {function} elman\n' in script


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_parse_it(scripts: dict[str, Path], shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell}")
    done = subprocess.run([program, "-n", scripts[shell]], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_script_as_data(gives: Any, scripts: dict[str, Path]) -> None:
    found = gives("completion", "fish")
    assert found == {"shell": "fish", "script": scripts["fish"].read_text()}


@pytest.mark.parametrize(
    ("arguments", "said"), [(["ksh"], 'Choose from: "bash"'), ([], "SHELL is missing")]
)
def test_what_is_wrong_is_said(call: Any, arguments: list[str], said: str) -> None:
    result = call("completion", *arguments)
    assert result.code == 2
    assert said in result.err
    assert result.out == ""
