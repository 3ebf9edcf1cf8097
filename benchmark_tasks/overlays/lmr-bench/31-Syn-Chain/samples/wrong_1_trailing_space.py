# Wrong: the form column takes text_with_ws, so most words carry a trailing space.
def spacy_result_to_conll(sentence):
    """Write one line per token, with the text as it stands in the sentence."""
    result = []
    for token in spacy.load("en_core_web_sm")(sentence):
        left = [str(token.i + 1), token.text_with_ws, token.lemma_, token.pos_, token.tag_]
        right = ["_", str(token.head.i + 1), token.dep_, "_", "_"]
        result.append("\t".join(left + right))
    return "\n".join(result)
