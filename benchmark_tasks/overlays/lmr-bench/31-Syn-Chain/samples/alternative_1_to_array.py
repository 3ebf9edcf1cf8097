# Right: the numbers of Doc.to_array, turned into texts by the vocabulary; heads are given as distances there.
import numpy as np


def spacy_result_to_conll(sentence):
    """Return the dependency parse of the sentence in the CoNLL-U format."""
    doc = spacy.load("en_core_web_sm", exclude=["ner"])(sentence)
    strings = doc.vocab.strings
    table = doc.to_array(["LEMMA", "POS", "TAG", "HEAD", "DEP"])
    lines = []
    for place, (lemma, pos, tag, distance, relation) in enumerate(table):
        head = place + 1 + int(distance.astype(np.int64))
        texts = [strings[number] for number in (lemma, pos, tag)]
        lines.append("\t".join([str(place + 1), doc[place].text, *texts, "_", str(head), strings[relation], "_", "_"]))
    return "\n".join(lines)
