"""Classification: texts, or pairs of texts, in; labels out."""
