"""Measuring: perplexity with its protocol, surprisal, paired bootstrap, generated text.

Takes a model behind the contract and a text, gives numbers; called by the tasks.
"""
