# Wrong: the head is looked up by its text, so with a repeated word the first occurrence is always named.
def spacy_result_to_conll(sentence):
    """Find the head among the words of the text."""
    tokens = list(spacy.load("en_core_web_sm")(sentence))
    words = [token.text for token in tokens]
    rows = []
    for number, token in enumerate(tokens, start=1):
        head = words.index(token.head.text) + 1
        rows.append([number, token.text, token.lemma_, token.pos_, token.tag_, "_", head, token.dep_, "_", "_"])
    return "\n".join("\t".join(str(cell) for cell in row) for row in rows)
