"""Types of arguments that several commands share."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter


def _whole(_: Any, tokens: Sequence[Any]) -> int:
    try:
        return int(tokens[0].value)  # of "1.5" an error, where int(1.5) would drop the half
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is not a whole number") from None


WholeNumber = Annotated[int, Parameter(converter=_whole)]
Adapters = Annotated[tuple[str, ...], Parameter(name="--with")]
