# Wrong: lemmas are put in lower case, so the lemma of "I" and of every name differs from spaCy's.
def spacy_result_to_conll(sentence):
    """Write one line per token with normalised lemmas."""
    result = ""
    for token in spacy.load("en_core_web_sm")(sentence):
        cells = [token.i + 1, token.text, token.lemma_.lower(), token.pos_, token.tag_, "_"]
        cells += [token.head.i + 1, token.dep_, "_", "_"]
        result += "\t".join(str(cell) for cell in cells) + "\n"
    return result
