"""Translation: a source in, a text out; also summaries and captions."""
