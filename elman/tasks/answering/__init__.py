"""Answering: a question and a passage in; the part of the passage that answers it out."""
