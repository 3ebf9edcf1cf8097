# Wrong: IDs and heads are counted from 0 instead of 1.


def spacy_result_to_conll(sentence):
    """Return the dependency parse of the sentence in the CoNLL-U format."""
    parser = spacy.load("en_core_web_sm")
    lines = []
    for token in parser(sentence):
        columns = [str(token.i), token.text, token.lemma_, token.pos_, token.tag_, "_"]
        columns += [str(token.head.i), token.dep_, "_", "_"]
        lines.append("\t".join(columns))
    return "\n".join(lines)
