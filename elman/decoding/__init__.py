"""Choosing what to say: ids out of a model, one at a time or as whole continuations.

`sampling.sample` streams rows drawn at random (or greedily), `beam.beam_search` gives the likeliest
continuations with their scores. Both take a language model, a state that has read the prompt, and
`options.DecodingOptions`. They see the contract only, no kind of model and no text: the tasks above
turn text into ids and back, cut at stop sequences, and serve it. `options` and `transforms` do
without torch, for `elman --help`.
"""
