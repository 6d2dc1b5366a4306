"""One HTML file with a language model inside: suggestions and surprisal while typing, offline.

`writer.py` puts a run, its tokenizer and the runtime (the JavaScript files of this folder) into one
file. `step_program.py` turns a neural model into operations that the runtime knows.
"""
