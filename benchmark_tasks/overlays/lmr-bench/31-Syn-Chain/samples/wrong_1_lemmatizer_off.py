# Wrong: the lemmatizer is switched off to save time, so the lemma column stays empty.


def spacy_result_to_conll(sentence):
    """Return the dependency parse of the sentence in the CoNLL-U format."""
    nlp = spacy.load("en_core_web_sm", disable=["ner", "lemmatizer"])
    lines = []
    for token in nlp(sentence):
        columns = [str(token.i + 1), token.text, token.lemma_ or "_", token.pos_, token.tag_, "_"]
        columns += [str(token.head.i + 1), token.dep_, "_", "_"]
        lines.append("\t".join(columns))
    return "\n".join(lines)
