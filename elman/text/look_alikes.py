"""Characters that look the same, written in one way: Unicode NFC, apostrophes and quotes.

Takes a text and the name of a form, as `normalising.py` lists them; called by the normaliser.
"""

from __future__ import annotations

import re
import unicodedata

_SINGLE, _DOUBLE = "'‘’ʼ", '"“”„'
_TO_PLAIN = str.maketrans({**dict.fromkeys(_SINGLE, "'"), **dict.fromkeys(_DOUBLE, '"')})


def unify(text: str, form: str, *, typographic: bool) -> str:
    """The text in a form; `typographic`: which quotes nfc+quotes writes."""
    if form == "none":
        return text
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if form == "nfc":
        return text
    plain = text.translate(_TO_PLAIN)
    return _curl(plain) if typographic else plain


def _curl(text: str) -> str:
    """Turn plain quotes into typographic ones: opening before a word, closing elsewhere."""
    text = re.sub(r"(?<![^\s([{—–-])'(?=\w)", "‘", text).replace("'", "’")
    return re.sub(r'(?<![^\s([{—–-])"', "“", text).replace('"', "”")
