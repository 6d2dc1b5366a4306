"""Run folders on disk: self-contained, written atomically, checked when read."""
