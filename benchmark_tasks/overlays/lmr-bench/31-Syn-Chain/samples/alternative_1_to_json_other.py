# Right: columns from Doc.to_json; numbering runs through the text, and a root's HEAD is its own number.
def spacy_result_to_conll(sentence):
    """Read the serialised document and write one tab-separated line per token."""
    record = spacy.load("en_core_web_sm")(sentence).to_json()
    lines = []
    for entry in record["tokens"]:
        form = record["text"][entry["start"] : entry["end"]]
        morphology = (entry.get("lemma", "_"), entry.get("pos", "_"), entry.get("tag", "_"))
        relation = (str(entry["head"] + 1), entry["dep"])
        lines.append("\t".join((str(entry["id"] + 1), form, *morphology, "_", *relation, "_", "_")))
    return "\n".join(lines)
