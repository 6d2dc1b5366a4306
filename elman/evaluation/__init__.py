"""Evaluation: perplexity with its protocol, surprisal, paired bootstrap, generated text.

Takes a language model and a text, gives numbers; called by the tasks.
"""
