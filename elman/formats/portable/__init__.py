"""Models in plain torch: every cell by its equations, without the rest of elman.

Built from plain settings (the package `portable_settings` makes them) and loaded with the weights
of a run. `joining.py` joins these files into the modelling file of a Hugging Face folder, and ONNX
graphs are traced from them. So they import nothing but torch and files that are joined too, no two
of them define the same name, and gradients come from autograd.

    cells.py              the equations of every cell
    layers.py             cells over time, stacks of them
    outputs.py            scores of all words from a hidden vector
    language_models.py    recurrent, feed-forward and log-bilinear language models
    ngram_model.py        n-gram models
    spelling.py           vectors of words from their characters
    hashed_scores.py      linear scores of labels and tags from hashed features
    bidirectional.py      ELMo: a language model in both directions, and the mix of its layers
    sentences.py          classifiers and taggers
    encoder_decoder.py    translation and other tasks from a source to a target
    answering.py          answers as spans of a passage
    families.py           the names of these models
    words.py              from text to words and their characters: without torch
"""
