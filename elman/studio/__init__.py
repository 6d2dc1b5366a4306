"""The studio: serve trained models over HTTP, with a page to try them side by side.

`app.py` builds the application and `serving.py` runs it; docs/api.md describes the routes. Requests
reach the models through `elman.tasks`. `batching.py` generates all completions of a model together.
"""
