# Wrong: the lemma column has the lower-case word.


def spacy_result_to_conll(sentence):
    """Return the dependency parse of the sentence in the CoNLL-U format."""
    parser = spacy.load("en_core_web_sm")
    lines = []
    for token in parser(sentence):
        columns = [str(token.i + 1), token.text, token.text.lower(), token.pos_, token.tag_, "_"]
        columns += [str(token.head.i + 1), token.dep_, "_", "_"]
        lines.append("\t".join(columns))
    return "\n".join(lines)
