# Right: the columns come from Doc.to_json, and the root is its own head.


def spacy_result_to_conll(sentence):
    """Return the dependency parse of the sentence in the CoNLL-U format."""
    parser = spacy.load("en_core_web_sm")
    parse = parser(sentence).to_json()
    blank = "_"
    rows = []
    for entry in parse["tokens"]:
        word = parse["text"][entry["start"] : entry["end"]]
        description = [entry["lemma"], entry["pos"], entry["tag"]]
        rows.append(
            [str(entry["id"] + 1), word, *description, blank, str(entry["head"] + 1), entry["dep"], blank, blank]
        )
    return "\n".join("\t".join(row) for row in rows)
