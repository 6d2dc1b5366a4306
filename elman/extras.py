"""Optional packages: import one where it is needed, or say how to install it.

Takes the name of a module and the problem without it, gives the module. `REQUIREMENTS` is the one
place that says how to install each package.
"""

from importlib import import_module
from typing import Any

from elman.errors import InputError

REQUIREMENTS = {
    "duckdb": "'elman[duckdb]'",
    "fsspec": "'elman[data]'",
    "h5py": "'elman[elmo]'",
    "pandas": "'elman[data]'",
    "pyarrow": "'elman[data]'",
    "pyspark": "'elman[spark]'",
    "torch.utils.tensorboard": "tensorboard",
    "transformers": "'elman[transformers]'",
    "zstandard": "'elman[data]'",
}


def import_extra(module: str, problem: str) -> Any:
    """Import a module of an optional package; an InputError begins with the problem without it."""
    try:
        return import_module(module)
    except ImportError:
        package = module if module in REQUIREMENTS else module.partition(".")[0]
        raise InputError(f"{problem}: pip install {REQUIREMENTS[package]}") from None
