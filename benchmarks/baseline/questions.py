"""Questions on the sentences of a treebank: who or what does something, and to whom or what.

    The cat chased a small mouse .    who or what chased ?    The cat
                                      chased whom or what ?   a small mouse

An answer is the subject or object of a verb with all its words, so finding it takes the grammar of
the sentence. Pronouns are left out, because a passage has few of them. Called by
`benchmarks/grid.py` for the recipe `answerer`. Examples are (passage, question, answer, first
character of the answer); `write_squad` writes them in the form of SQuAD.
"""

import json
from collections import Counter

from baseline.data import ewt

ASKED = {"nsubj": "who or what {verb} ?", "obj": "{verb} whom or what ?"}
LONGEST = 15  # words of an answer


def ewt_questions(data):
    """Training, validation and test questions on UD English EWT."""
    return {
        split: [example for block in blocks for example in examples(block)]
        for split, blocks in ewt(data).items()
    }


def examples(block):
    """The questions on a sentence; a verb that occurs twice is not asked about."""
    rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
    rows = [row for row in rows if row[0].isdigit()]  # no contractions, no empty nodes
    words = [row[1] for row in rows]
    occurrences = Counter(words)
    for number, row in enumerate(rows):
        verb = rows[int(row[6]) - 1]
        asked = row[7] in ASKED and verb[3] == "VERB" and occurrences[verb[1]] == 1
        span = subtree(rows, number) if asked and row[3] != "PRON" else None
        if span and len(span) <= LONGEST:
            yield example(words, span, ASKED[row[7]].format(verb=verb[1]))


def subtree(rows, top):
    """The positions under a word, itself included; nothing if they have gaps."""
    found = {top + 1}
    while more := {int(row[0]) for row in rows if int(row[6]) in found} - found:
        found |= more
    span = range(min(found) - 1, max(found))
    return span if len(found) == len(span) else None


def example(words, span, question):
    answer = " ".join(words[span.start : span.stop])
    start = sum(len(word) + 1 for word in words[: span.start])
    return " ".join(words), question, answer, start


def write_squad(folder, splits):
    for split, examples in splits.items():
        paragraphs = [squad_paragraph(number, *one) for number, one in enumerate(examples)]
        squad = {"version": "1.1", "data": [{"title": "EWT", "paragraphs": paragraphs}]}
        (folder / f"{split}.json").write_text(json.dumps(squad), encoding="utf-8")


def squad_paragraph(number, passage, question, answer, start):
    answers = [{"text": answer, "answer_start": start}]
    asked = {"id": str(number), "question": question, "answers": answers}
    return {"context": passage, "qas": [asked]}
