"""Numbers inside sentences. Takes a number and what is counted; used wherever messages are made."""


def several(number: int, what: str) -> str:
    """`1 line`, `2,000 lines`; `what` is a noun whose plural has an s."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
