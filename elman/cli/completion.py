"""`elman completion`: print a script that completes commands and options in a shell.

cyclopts writes the script from the signatures of all commands. It offers nothing where an argument
is a text, so file names would no longer be completed; `_with_files` brings them back.
"""

import re
from typing import Annotated, Literal

from cyclopts import Parameter

from elman.cli import build_app, command_names
from elman.cli.arguments import Json
from elman.cli.output import print_json

_SHELL = Parameter(help="The shell: bash, zsh or fish.", show_choices=False)
# A zsh specification of a value without an action: '*--out[…]:out' or '1:…'. Colons in texts have
# a backslash.
_ZSH_VALUE = re.compile(
    r"^( *'(?:\*--[\w-]+\[.*\]:[\w-]+|(?:\d+|\*):(?:[^:\\]|\\.)+))'(?=( \\)?$)", re.MULTILINE
)


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], _SHELL], /, *, json: Json = False
) -> None:
    """Print a script that completes commands and options in your shell.

    It also completes the names of recipes, and file names. Save it where your shell looks for such
    scripts, then open a new shell. Print it again after an update of elman.

    For example:
      elman completion bash > ~/.local/share/bash-completion/completions/elman
      elman completion zsh > ~/.zfunc/_elman
      elman completion fish > ~/.config/fish/completions/elman.fish
    """
    app = build_app(*command_names())
    script = _with_files(app.generate_completion(shell=shell), shell)
    if json:
        print_json({"shell": shell, "script": script})
    else:
        print(script, end="")


def _with_files(script: str, shell: str) -> str:
    """Complete file names where nothing else fits; fish does so anyway."""
    if shell == "bash":
        return script.replace("\ncomplete -F ", "\ncomplete -o default -F ")
    if shell == "zsh":
        return _ZSH_VALUE.sub(r"\1:_files'", script) + _zsh_start(script)
    return script


def _zsh_start(script: str) -> str:
    """Lines that make the script work as the autoloaded file `_elman` and when it is sourced."""
    (function,) = re.findall(r"^(\w+)\(\) \{", script, re.MULTILINE)
    return (
        '\nif [ "$funcstack[1]" = "_elman" ]; then\n'
        f'  {function} "$@"\nelse\n  compdef {function} elman\nfi\n'
    )
