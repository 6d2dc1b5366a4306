"""Language modelling: running text in; perplexity, surprisal, suggestions and generated text
out."""
