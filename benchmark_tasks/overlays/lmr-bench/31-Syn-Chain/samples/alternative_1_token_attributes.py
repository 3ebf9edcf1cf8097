# Right: token attributes in ten columns; the root is its own head, as in the paper's figure.


def spacy_result_to_conll(sentence):
    """Return the dependency parse of the sentence in the CoNLL-U format."""
    parsed = spacy.load("en_core_web_sm")(sentence)
    table = []
    for token in parsed:
        fields = (
            token.i + 1,
            token.text,
            token.lemma_,
            token.pos_,
            token.tag_,
            "_",
            token.head.i + 1,
            token.dep_,
            "_",
            "_",
        )
        table.append("\t".join(map(str, fields)))
    return "\n".join(table)
