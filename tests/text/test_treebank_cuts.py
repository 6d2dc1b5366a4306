"""Cuts of raw text, learned from treebanks of English, French and German kind."""

from __future__ import annotations

import json
import time

import pytest

from elman.text.treebank_cuts import Chunk, TreebankCuts


def sentence(text: str) -> list[Chunk]:
    """Chunks with | at cuts, and = before words that are not in the text: `du=de|le`."""
    found = []
    for chunk in text.split():
        surface, separator, words = chunk.partition("=")
        parts = (words if separator else surface).split("|")
        found.append((surface.replace("|", ""), tuple(parts)))
    return found


def learn(*sentences: str, times: int = 3) -> TreebankCuts:
    return TreebankCuts.learn([sentence(text) for text in sentences] * times)


ENGLISH = learn(
    "He did|n't see John|'s dog|.",
    "They do|n't like the well|-|known film|,|  which costs $|3.50|!".replace("|  ", "| ").strip(),
    'Mr. Smith (|who came at 5:30|) said|:|  "|no|"|.'.replace("|  ", " "),
    "I ca|n't go|, Mrs. Jones|'s car is 1,000 miles away|.",
)
FRENCH = learn(
    "L'|homme du=de|le village n'|a qu'|un ami|.",
    "Il va au=à|le marché d'|hiver|, aujourd'hui|.",
    "C'|est l'|ami des=de|les enfants|.",
)
GERMAN = learn(
    "Das ist z.B. im=in|dem Haus|, usw. oder beim=bei|dem Arzt|.",
    "Die E-Mail-Adresse kostet 3,50 €|, sagt „|Anna|“ am=an|dem 3. Mai|.",
)


@pytest.mark.parametrize(
    ("cuts", "text", "words"),
    [
        (ENGLISH, "She didn't know Mary's cat.", "She did n't know Mary 's cat ."),
        (ENGLISH, "A well-made one, Mr. Brown!", "A well - made one , Mr. Brown !"),
        (ENGLISH, "(he paid $7.25 at 6:45)", "( he paid $ 7.25 at 6:45 )"),
        (ENGLISH, "2,500 dogs aren't Mrs. Smith's.", "2,500 dogs are n't Mrs. Smith 's ."),
        (ENGLISH, "She did n't know Mary 's cat .", "She did n't know Mary 's cat ."),
        (FRENCH, "L'ami du roi n'est qu'un homme.", "L' ami de le roi n' est qu' un homme ."),
        (FRENCH, "Au marché, l'eau d'aujourd'hui.", "À le marché , l' eau d' aujourd'hui ."),
        (GERMAN, "Im Garten, z.B. am 4. Juni.", "In dem Garten , z.B. an dem 4. Juni ."),
        (GERMAN, "Die U-Bahn-Station kostet 2,75 €.", "Die U-Bahn-Station kostet 2,75 € ."),
    ],
)
def test_raw_text_is_split_like_its_treebank(cuts: TreebankCuts, text: str, words: str) -> None:
    assert " ".join(cuts.split(text)) == words
    again = TreebankCuts.from_data(json.loads(json.dumps(cuts.to_data())))
    assert " ".join(again.split(text)) == words


def test_a_treebank_of_white_space_cuts_nothing() -> None:
    cuts = learn("He didn't see the dog.", "So what, he said.")
    assert cuts.split("It isn't so, he said.") == ["It", "isn't", "so,", "he", "said."]


def test_a_full_stop_is_cut_at_the_end() -> None:
    cuts = learn("He saw Mr. Smith and Co. in no. 3|.", "She came at no|.", "They like Smith|.")
    assert cuts.split("Mr. Smith came.") == ["Mr.", "Smith", "came", "."]
    assert cuts.split("He saw no. 7.") == ["He", "saw", "no.", "7", "."]


def test_long_chunks_take_no_time() -> None:
    started = time.perf_counter()
    assert "".join(ENGLISH.split("!" * 20_000)) == "!" * 20_000
    assert "".join(ENGLISH.split("a.b-" * 5_000)) == "a.b-" * 5_000
    assert time.perf_counter() - started < 20


def test_no_character_is_lost() -> None:
    for text in ("(…)", "x" * 99 + "...", "'tis", "-", "''", "“Aha!”", "3€-Münze", "\u200bx"):
        assert "".join(ENGLISH.split(text)) == text


def test_damaged_counts_are_refused() -> None:
    for counts in ({"sides a|.": [1]}, {"sides a|.": ["1", 2]}, [1], {"sides a|.": [-1, 2]}):
        with pytest.raises(ValueError, match="cuts|unpack"):
            TreebankCuts.from_data({"counts": counts, "words": {}})
