"""Columns as users name them."""

import pytest

from elman.errors import InputError
from elman.text.named_columns import check_columns, columns_setting, parse_columns


def test_names_are_read() -> None:
    assert parse_columns("text=utterance, label=intent") == {"text": "utterance", "label": "intent"}
    assert parse_columns("text=2,label=1") == {"text": "2", "label": "1"}
    assert columns_setting('text=a "b"') == 'text.columns={"text" = "a \\"b\\""}'


@pytest.mark.parametrize("written", ["", "utterance", "text=", "=a", "text=a,,label=b"])
def test_what_is_not_written_so_is_refused(written: str) -> None:
    with pytest.raises(InputError, match="like text=utterance,label=intent"):
        parse_columns(written)


def test_a_column_has_one_role() -> None:
    with pytest.raises(InputError, match="text is named twice"):
        parse_columns("text=a,text=b")
    with pytest.raises(InputError, match="need a column each"):
        check_columns({"text": "a", "label": "a"}, ("text", "label"))
    with pytest.raises(InputError, match="'txt' is not read from such a table; did you mean"):
        check_columns({"txt": "a"}, ("text", "label"))
