"""The colours of runs and models in pictures, in order."""

COLOURS = ("#333333", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d")


def colour(number: int) -> str:
    """The colour of the run with this number; they repeat after the last."""
    return COLOURS[number % len(COLOURS)]
