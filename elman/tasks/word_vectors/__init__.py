"""Word vectors: one vector per word, from plain text (word2vec)."""
