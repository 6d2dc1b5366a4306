"""Help texts without line breaks of our own."""

from elman.cli import flowing


def test_paragraphs_and_parameters_flow_and_examples_stay() -> None:
    docstring = """One line that goes
    on here.

    For example:
      elman one
      elman two

    Parameters
    ----------
    first
        What it is, and
        what more there
        is to say.
    second
        Short.
    """
    assert flowing(docstring) == (
        "One line that goes on here.\n\nFor example:\n  elman one\n  elman two\n\n"
        "Parameters\n----------\nfirst\n    What it is, and what more there is to say.\n"
        "second\n    Short."
    )
