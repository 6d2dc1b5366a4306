"""The studio: trained models behind HTTP, and the page where they are tried side by side.

`app.py` puts it together, `serving.py` runs it; docs/api.md has the routes. Models are asked
through `elman.tasks`; continuations are written by `batching.py`, all those of a model together.
"""
