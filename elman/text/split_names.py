"""The names of splits in the names of files and folders: train, valid, test.

Takes a path, tells the split that its name says; called by everything that opens data.
"""

import re
from pathlib import Path

SPLITS = ("train", "valid", "test")
SPLIT_NAMES = {
    "train": ("train", "training"),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
}


def names_split(path: Path, split: str) -> bool:
    """Whether the name of a file or folder says that it belongs to a split."""
    words = re.split(r"[^a-z]+", path.name.lower())
    return any(name in words for name in SPLIT_NAMES[split])
