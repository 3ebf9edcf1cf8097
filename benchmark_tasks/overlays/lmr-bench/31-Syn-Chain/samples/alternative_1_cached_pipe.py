# Right: a cached pipeline and nlp.pipe; the root has head 0, as the CoNLL-U standard says.
from functools import lru_cache


@lru_cache(maxsize=1)
def _pipeline():
    return spacy.load("en_core_web_sm", exclude=["ner"])


def spacy_result_to_conll(sentence):
    """Return the dependency parse of the sentence in the CoNLL-U format."""
    (doc,) = _pipeline().pipe([sentence])
    lines = []
    for number, token in enumerate(doc, start=1):
        is_root = token.head.i == token.i
        head = 0 if is_root else token.head.i + 1
        relation = "root" if is_root else token.dep_
        lines.append(
            f"{number}\t{token.text}\t{token.lemma_}\t{token.pos_}\t{token.tag_}\t_\t{head}\t{relation}\t_\t_\n"
        )
    return "".join(lines)
