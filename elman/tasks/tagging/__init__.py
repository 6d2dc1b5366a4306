"""Tagging: words in, tags out; from files in columns to accuracy and entity F1."""
