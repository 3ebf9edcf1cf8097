# Wrong: HEAD holds the distance to the head, as spaCy stores it internally, not the number of the head.
def spacy_result_to_conll(sentence):
    """Write one line per token; a root has the distance 0."""
    rows = []
    for token in spacy.load("en_core_web_sm")(sentence):
        distance = token.head.i - token.i
        row = (token.i + 1, token.text, token.lemma_, token.pos_, token.tag_, "_", distance, token.dep_, "_", "_")
        rows.append("\t".join(map(str, row)))
    return "\n".join(rows)
