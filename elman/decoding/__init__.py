"""Decoding: generate ids with a language model, by sampling or beam search.

`sampling.sample` streams rows that are sampled (or greedy), `beam.beam_search` gives the most
probable continuations with their scores. Both take a language model, a state that has read the
prompt, and `options.DecodingOptions`. They use only the contract of models, and no text: the tasks
turn text into ids and back, cut at stop sequences, and stream the result. `options` and
`transforms` do not import torch, so that `elman --help` is fast.
"""
