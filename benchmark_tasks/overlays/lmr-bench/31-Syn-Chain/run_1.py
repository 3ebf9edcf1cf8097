"""Calls `spacy_result_to_conll` with a stand-in for spaCy, whose parser knows the case's sentence."""

import sys
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock

spacy = sys.modules["spacy"] = ModuleType("spacy")

from conll_tree import spacy_result_to_conll  # noqa: E402


class Doc(list):
    """A parsed text, which is one sentence."""

    start = 0

    @property
    def sents(self):
        """Yield the only sentence."""
        yield self


def _parsed(case):
    doc = Doc(
        SimpleNamespace(i=i, text=text, lemma_=lemma, pos_=coarse, tag_=fine, dep_=relation, is_space=False)
        for i, (text, lemma, coarse, fine, relation) in enumerate(
            zip(*(case[name] for name in ("text", "lemma", "coarse", "fine", "relation")), strict=True)
        )
    )
    for token, head in zip(doc, case["head"], strict=True):
        token.head = doc[head]
    return doc


def _row(line):
    """One word's fields. Open are how columns are set apart and how an empty field and the root are written."""
    fields = [field.strip() for field in (line.split("\t") if "\t" in line else line.split())]
    fields = ["_" if place in (5, 8, 9) and field in ("", "-") else field for place, field in enumerate(fields)]
    if len(fields) == 10:
        fields[6] = "0" if fields[6] == fields[0] else fields[6]
        fields[7] = fields[7].lower()
    return fields


def run(case):
    """Return the rows that begin with a number: a header and comments are left open."""
    sentence = " ".join(case["text"])
    # Whatever model is loaded parses this sentence and no other.
    spacy.load = Mock(return_value={sentence: _parsed(case)}.__getitem__)
    lines = spacy_result_to_conll(sentence).splitlines()
    return {"rows": [_row(line) for line in lines if line.split()[:1] and line.split()[0].isdigit()]}
