"""Run folders on disk: self-contained, written atomically, checked when read.

`folder.py` writes, updates and reads them; `parts.py` handles the files in them, `manifest.py`
their hashes; `lock.py` prevents two processes from training the same run.
"""
