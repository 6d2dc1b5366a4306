"""Types of arguments that several commands share."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter


def _whole(_: Any, tokens: Sequence[Any]) -> int:
    return int(tokens[0].value)  # of "1.5" a ValueError, where int(1.5) would drop the half


WholeNumber = Annotated[int, Parameter(converter=_whole)]
Adapters = Annotated[tuple[str, ...], Parameter(name="--with")]
