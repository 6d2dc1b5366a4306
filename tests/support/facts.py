"""Passages of small facts with questions on them, in SQuAD's form, drawn with a seed.

    Mary went to the old garden. John took the red ball. …    Where is Mary?   the old garden

Every passage has several people, so that the question decides; some names come only in tests.
"""

import json
import random
from pathlib import Path
from typing import Any

PEOPLE = ("Mary", "John", "Sandra", "Daniel", "Ada", "Otto", "Ines", "Karl")
UNSEEN = ("Zelda", "Quentin")
PLACES = ("garden", "kitchen", "office", "school", "park", "station")
THINGS = ("ball", "book", "lamp", "apple", "key", "hat")
KINDS = ("red", "old", "small", "heavy", "new")


def passage(drawn: random.Random, names: tuple[str, ...] = PEOPLE) -> dict[str, Any]:
    """Four facts and a question on each."""
    people = drawn.sample(names, 4)
    things, places = drawn.sample(THINGS, 2), drawn.sample(PLACES, 2)
    text, questions = "", []
    order = list(range(4))
    drawn.shuffle(order)
    for number in order:
        person = people[number]
        kind = f"{drawn.choice(KINDS)} " * drawn.randrange(2)
        where = number < 2
        begin = f"{person} went to " if where else f"{person} took "
        what = f"the {kind}{places[number] if where else things[number - 2]}"
        asked = f"Where is {person}?" if where else f"What has {person}?"
        questions.append((asked, what, len(text) + len(begin)))
        if not where:
            questions.append((f"Who has {what}?", person, len(text)))
        text += f"{begin}{what}. "
    qas = [
        {"id": str(drawn.getrandbits(40)), "question": asked,
         "answers": [{"text": answer, "answer_start": start}]}
        for asked, answer, start in questions
    ]  # fmt: skip
    return {"context": text.strip(), "qas": qas}


def squad(passages: int, seed: int, names: tuple[str, ...] = PEOPLE) -> dict[str, Any]:
    """So many passages with six questions each."""
    drawn = random.Random(seed)
    paragraphs = [passage(drawn, names) for _ in range(passages)]
    return {"version": "1.1", "data": [{"title": "Facts", "paragraphs": paragraphs}]}


def write_facts(folder: Path, **passages: int) -> Path:
    """A folder with train.json and the like; names that training lacks come in test only."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (split, count) in enumerate(passages.items()):
        names = (*PEOPLE, *UNSEEN) if split == "test" else PEOPLE
        (folder / f"{split}.json").write_text(json.dumps(squad(count, seed, names)))
    return folder
