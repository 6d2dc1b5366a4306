"""Run folders on disk: self-contained, written atomically, checked when read.

`folder.py` writes, updates and reads them; `parts.py` knows the files in them, `manifest.py` what
they must hash to; `lock.py` keeps two processes from training the same one.
"""
