"""The questions of a language model; each is imported when it is used."""

from elman.registry import Registry

QUESTIONS = Registry(
    "question",
    {
        "suggest": "elman.tasks.language_modelling.suggestion:SUGGEST",
        "surprisal": "elman.tasks.language_modelling.scoring:SURPRISAL",
        "score": "elman.tasks.language_modelling.scoring:SCORE",
        "distribution": "elman.tasks.language_modelling.distribution:DISTRIBUTION",
        "generate": "elman.tasks.language_modelling.generation:GENERATE",
        "explain": "elman.tasks.language_modelling.explanation:EXPLAIN",
        "inspect": "elman.tasks.language_modelling.inspection:INSPECT",
        "embed": "elman.tasks.embed:EMBED",
    },
)
