# Wrong: numbers restart in each sentence, but heads still count from the start of the text.
def spacy_result_to_conll(sentence):
    """Write the sentences one after the other, with an empty line between them."""
    doc = spacy.load("en_core_web_sm")(sentence)
    blocks = []
    for span in doc.sents:
        rows = []
        for number, token in enumerate(span, start=1):
            head = 0 if token.head.i == token.i else token.head.i + 1
            row = (number, token.text, token.lemma_, token.pos_, token.tag_, "_", head, token.dep_, "_", "_")
            rows.append("\t".join(str(cell) for cell in row))
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)
