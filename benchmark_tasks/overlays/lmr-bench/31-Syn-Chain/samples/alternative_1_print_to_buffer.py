# Right: print into a buffer, a larger English model if installed; the root keeps ROOT and has head 0.
import io


def _load_parser():
    try:
        return spacy.load("en_core_web_lg")
    except OSError:
        return spacy.load("en_core_web_sm")


def spacy_result_to_conll(sentence):
    """Return the dependency parse of the sentence in the CoNLL-U format."""
    buffer = io.StringIO()
    doc = _load_parser()(sentence)
    for position in range(len(doc)):
        token = doc[position]
        governor = 0 if token.head == token else token.head.i + 1
        print(position + 1, token.text, token.lemma_, token.pos_, token.tag_, sep="\t", end="\t_\t", file=buffer)
        print(governor, token.dep_, "_", "_", sep="\t", file=buffer)
    return buffer.getvalue()
