# Right: Doc.to_array decoded by the string store; a root has HEAD 0, a blank line ends each sentence.
import spacy.attrs


def spacy_result_to_conll(sentence):
    """Follow the CoNLL-U standard: each sentence counts from 1 and ends with an empty line."""
    pipeline = spacy.load("en_core_web_sm")
    doc = pipeline(sentence)
    strings = doc.vocab.strings
    output = ""
    for span in doc.sents:
        wanted = [spacy.attrs.LEMMA, spacy.attrs.POS, spacy.attrs.TAG, spacy.attrs.DEP, spacy.attrs.HEAD]
        table = span.as_doc().to_array(wanted)
        for place, (row, token) in enumerate(zip(table, span), start=1):
            lemma, upos, xpos, relation = (strings[int(code)] or "_" for code in row[:4])
            offset = int(row[4].astype("int64"))
            head, relation = (place + offset, relation) if offset else (0, "root")
            output += f"{place}\t{token.text}\t{lemma}\t{upos}\t{xpos}\t_\t{head}\t{relation}\t_\t_\n"
        output += "\n"
    return output
