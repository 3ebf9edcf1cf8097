# Right: a cached pipeline with nlp.pipe and named tuples; sentences restart at 1 and a root has HEAD 0.
from functools import cache
from typing import NamedTuple


class Line(NamedTuple):
    """The ten fields of a word."""

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int
    deprel: str
    deps: str
    misc: str


@cache
def english():
    """Load the English pipeline once."""
    return spacy.load("en_core_web_sm")


def line_for(token, first):
    """Describe one token, counted from the first token of its sentence."""
    head = 0 if token.head.i == token.i else token.head.i - first + 1
    return Line(
        id=token.i - first + 1,
        form=token.text,
        lemma=token.lemma_,
        upos=token.pos_,
        xpos=token.tag_,
        feats="_",
        head=head,
        deprel=token.dep_,
        deps="_",
        misc="_",
    )


def spacy_result_to_conll(sentence):
    """Separate the sentences of the text by an empty line."""
    (doc,) = english().pipe([sentence])
    blocks = []
    for span in doc.sents:
        blocks.append("\n".join("\t".join(map(str, line_for(token, span.start))) for token in span))
    return "\n\n".join(blocks)
