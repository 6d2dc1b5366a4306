"""Embedding: words in their sentences in, vectors out (ELMo)."""
