"""The package can be imported without Unix-only modules."""

import os
import subprocess
import sys
from pathlib import Path

import elman

PACKAGE = Path(elman.__file__).parent
_ONLY_UNIX = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog")
_IMPORT_ALL = f"""
import importlib, os, signal, sys, pathlib
import torch, matplotlib, fastapi, uvicorn, sacrebleu  # may know Windows in their own way
for name in {_ONLY_UNIX!r}:
    sys.modules[name] = None  # importing it is an ImportError
for name in ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGALRM", "SIGKILL"):
    delattr(signal, name)
for name in ("fork", "getuid", "geteuid", "sysconf", "mkfifo", "sched_getaffinity", "O_DIRECTORY"):
    if hasattr(os, name):
        delattr(os, name)
root = pathlib.Path(sys.argv[1])
names = sorted(path.relative_to(root.parent).with_suffix("") for path in root.rglob("*.py"))
count = 0
for name in names:
    module = ".".join(name.parts).removesuffix(".__init__")
    if name.stem not in ("__main__", "huggingface_model", "onnx_export"):  # two need extras
        importlib.import_module(module)
        count += 1
print(count)
"""


def test_every_module_can_be_imported_without_what_only_unix_has() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL, str(PACKAGE)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300
