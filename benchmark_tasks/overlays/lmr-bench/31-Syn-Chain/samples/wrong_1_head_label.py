# Wrong: the relation column holds the label of the head instead of the word's own.


def spacy_result_to_conll(sentence):
    """Return the dependency parse of the sentence in the CoNLL-U format."""
    parser = spacy.load("en_core_web_sm")
    lines = []
    for token in parser(sentence):
        columns = [str(token.i + 1), token.text, token.lemma_, token.pos_, token.tag_, "_"]
        columns += [str(token.head.i + 1), token.head.dep_, "_", "_"]
        lines.append("\t".join(columns))
    return "\n".join(lines)
