"""Results of the stand-in for spaCy in syn-chain/1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.evaluator.upstream.probes import answers, cases_of, error, outputs

if TYPE_CHECKING:
    from pathlib import Path

PROBE = "31-Syn-Chain/1"
RIGHT = {
    "sentences and feats": """
    doc = spacy.load("en_core_web_sm", disable=["ner"])(sentence)
    lines = ["# text = " + doc.text]
    for sent in doc.sents:
        for t in sent:
            head = 0 if t.head == t else t.head.i - sent.start + 1
            misc = "_" if t.whitespace_ else "SpaceAfter=No"
            fields = [t.i - sent.start + 1, t.text, t.lemma_, t.pos_, t.tag_, str(t.morph) or "_", head]
            lines.append("\\t".join(map(str, [*fields, t.dep_ if head else "root", "_", misc])))
    return "\\n".join(lines) + "\\n\\n"
""",
    "pipe and children": """
    import en_core_web_sm
    doc, = en_core_web_sm.load().pipe([sentence])
    heads = {child.i: token.i + 1 for token in doc for child in token.children}
    rows = [
        [t.i + 1, t, t.lemma_, t.pos_, t.tag_, "".join(t.morph.get("Case")) or "_", heads.get(t.i, 0), t.dep_, "_", "-"]
        for t in doc
        if not t.is_space
    ]
    return "\\n".join(" ".join(map(str, row)) for row in rows)
""",
    "JSON": """
    parse = spacy.load("en_core_web_sm")(sentence).to_json()
    return "\\n".join(
        "\\t".join(map(str, [
            w["id"] + 1, parse["text"][w["start"] : w["end"]], w["lemma"], w["pos"], w["tag"], w["morph"] or "_",
            w["head"] + 1, w["dep"], "_", "_",
        ]))
        for w in parse["tokens"]
    )
""",
    "array of numbers": """
    from spacy.attrs import DEP, HEAD, LEMMA
    nlp = spacy.load("en_core_web_sm", disable="ner")
    doc = nlp(sentence)
    rows = []
    for token, (head, *numbers) in zip(doc, doc.to_array([HEAD, LEMMA, "POS", "TAG", DEP])):
        lemma, pos, tag, relation = (nlp.vocab.strings[number] for number in numbers)
        row = [token.i + 1, token, lemma, pos, tag, "_", token.i + 1 + int(head.astype("int64")), relation, "_", "_"]
        rows.append("\\t".join(map(str, row)))
    return "\\n".join(rows)
""",
    "numbers of labels": """
    from spacy.symbols import ROOT
    nlp = spacy.util.load_model("en_core_web_sm")
    with nlp.select_pipes(disable=["ner"]):
        (doc, name), = nlp.pipe([(sentence, "name")], as_tuples=True)
    rows = []
    for t in sorted(doc[:].as_doc(), reverse=False):
        head = 0 if t.dep == ROOT else t.head.i + 1
        rows.append([t.i + 1, t.text, t.lemma_, t.pos_, doc.vocab.strings[t.tag], "_", head, t.dep_, "_", "_"])
    return "\\n".join("\\t".join(map(str, row)) for row in rows)
""",
}


def goal(body: str) -> dict[str, str]:
    return {"conll_tree.py": f"import spacy\n\n\ndef spacy_result_to_conll(sentence):{body}"}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_give_the_parse(name: str, tmp_path: Path) -> None:
    cases = cases_of(PROBE)
    for case, output in zip(
        cases, outputs(answers(PROBE, goal(RIGHT[name]), tmp_path / "box", cases=cases)), strict=True
    ):
        assert output["rows"] == [
            [str(i + 1), text, lemma, pos, tag, "_", "0" if head == i else str(head + 1), dep.lower(), "_", "_"]
            for i, (text, lemma, pos, tag, head, dep) in enumerate(
                zip(*(case[key] for key in ("text", "lemma", "coarse", "fine", "head", "relation")), strict=True)
            )
        ]


# The girl saw the old dog .
SENTENCE: dict[str, Any] = {
    "text": ["The", "girl", "saw", "the", "old", "dog", "."],
    "lemma": ["the", "girl", "see", "the", "old", "dog", "."],
    "coarse": ["DET", "NOUN", "VERB", "DET", "ADJ", "NOUN", "PUNCT"],
    "fine": ["DT", "NN", "VBD", "DT", "JJ", "NN", "."],
    "head": [1, 2, 2, 5, 5, 2, 2],
    "relation": ["det", "nsubj", "ROOT", "det", "amod", "dobj", "punct"],
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[t.idx for t in doc]", [0, 4, 9, 13, 17, 21, 25]),
        ("[c.text for c in doc[2].children]", ["girl", "dog", "."]),
        ("[c.text for c in doc[2].lefts], [c.text for c in doc[2].rights]", (["girl"], ["dog", "."])),
        ("doc[2].n_lefts, doc[2].n_rights", (1, 2)),
        ("[c.text for c in doc[5].subtree]", ["the", "old", "dog"]),
        ("[c.text for c in doc[3].ancestors]", ["dog", "saw"]),
        ("doc[5].left_edge.text, doc[5].right_edge.text", ("the", "dog")),
        ("[chunk.text for chunk in doc.noun_chunks]", ["The girl", "the old dog"]),
        ("[(s.start, s.end, s.root.text) for s in doc.sents]", [(0, 7, "saw")]),
        ("doc[3:6].text, doc[3:6].start_char, doc[3:6].end_char", ("the old dog", 13, 24)),
        ("len(doc), doc[-1].is_punct, doc[0].is_title, doc[1].is_alpha", (7, True, True, True)),
        ("str(doc[1].morph), doc[1].morph.to_dict(), doc[1].ent_type_, doc.ents", ("", {}, "", ())),
        ("doc[0].nbor().text, doc[1].sent.text == doc.text, doc[0].doc is doc", ("girl", True, True)),
        ("hasattr(doc[0], 'xpos'), hasattr(doc, 'has_annotation')", (False, True)),
        ("doc[1].shape_, doc[0].shape_, doc[5].suffix_, doc[6].shape_", ("xxxx", "Xxx", "dog", ".")),
        ("doc.to_json()['sents'], doc.to_json()['tokens'][1]['end']", ([{"start": 0, "end": 26}], 8)),
        (
            "doc.to_array('IDX').tolist(), doc.to_array(['LENGTH', 'IS_TITLE']).shape",
            ([0, 4, 9, 13, 17, 21, 25], (7, 2)),
        ),
        ("[s.text == doc.text_with_ws for s in doc[1].sent.sents], doc[1] > doc[0]", ([True], True)),
        ("doc[2].pos == doc.vocab.strings['VERB'], doc[2].ent_iob, doc[2].ent_type", (True, 2, 0)),
        ("spacy.util.is_package('en_core_web_sm'), spacy.__version__[0]", (True, "3")),
    ],
)
def test_attributes_of_tokens_and_spans(expression: str, value: Any, tmp_path: Path) -> None:
    body = f"\n    doc = spacy.load('en')(sentence)\n    return '1 ' + repr(({expression})).replace(' ', '~')\n"
    (output,) = outputs(answers(PROBE, goal(body), tmp_path / "box", cases=[SENTENCE]))
    assert output["rows"] == [["1", repr(value).replace(" ", "~")]]


OFF: dict[str, tuple[str, ...]] = {
    "spacy.load('en', disable=['ner', 'lemmatizer'])": ("lemma_",),
    "spacy.load('en', exclude='tagger')": ("lemma_", "pos_", "tag_"),
    "spacy.load('en', enable=['tok2vec', 'tagger', 'attribute_ruler', 'lemmatizer'])": ("dep_",),
    "spacy.load('en', enable=['tok2vec', 'parser'])": ("lemma_", "pos_", "tag_"),
    "spacy.load('en', disable=['ner'])": (),
}


@pytest.mark.parametrize("load", OFF)
def test_columns_of_components_that_are_off_are_empty(load: str, tmp_path: Path) -> None:
    expression = f"[name for name in ('lemma_', 'pos_', 'tag_', 'dep_') if not getattr({load}(sentence)[1], name)]"
    body = f"\n    return '1 ' + repr(tuple({expression})).replace(' ', '~')\n"
    (output,) = outputs(answers(PROBE, goal(body), tmp_path / "box", cases=[SENTENCE]))
    assert output["rows"] == [["1", repr(OFF[load]).replace(" ", "~")]]


def test_components_are_off_for_a_while(tmp_path: Path) -> None:
    body = """
    nlp, seen = spacy.load("en"), []
    with nlp.disable_pipes("parser", "ner") as off:
        seen += [sorted(off), nlp.disabled, nlp(sentence)[0].head.i, nlp(sentence).has_annotation("DEP")]
    seen += [nlp.has_pipe("parser"), nlp(sentence)[0].head.i, nlp(sentence, disable=["parser"])[0].head.i]
    off = nlp.select_pipes(enable="parser")
    seen += [nlp.pipe_names, nlp.make_doc(sentence)[2].tag_]
    off.restore()
    return "1 " + repr((*seen, len(nlp.pipe_names))).replace(" ", "~")
"""
    (output,) = outputs(answers(PROBE, goal(body), tmp_path / "box", cases=[SENTENCE]))
    seen = (["ner", "parser"], ["parser", "ner"], 0, False, True, 1, 0, ["parser"], "", 6)
    assert output["rows"] == [["1", repr(seen).replace(" ", "~")]]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("spacy.load('en')(sentence)[0].similarity(1)", "spaCy has no `Token.similarity`"),
        ("spacy.load('en')(sentence)._.conll_str", "spaCy has no `Doc._`"),
        ("spacy.load('en')(sentence).to_array('RANK')", "spaCy has no `Token.rank`"),
        ("spacy.load('en')(sentence)[1:3].as_doc()", "spaCy has no `Span.as_doc of a part of the sentence`"),
        ("spacy.load('en').add_pipe('merge_noun_chunks')", "spaCy has no `Language.add_pipe('merge_noun_chunks')`"),
        ("spacy.tokens.Doc(None, words=[])", "spaCy has no `Doc that is made of words`"),
        ("spacy.tokens.Token.set_extension('x')", "spaCy has no `Token.set_extension`"),
        ("spacy.attrs.IDS", "spaCy has no `attrs.IDS`"),
        ("spacy.explain('nsubj')", "spaCy has no `explain`"),
        ("spacy.load('en')('other')", "spaCy has no `parse of another text than the whole sentence`"),
        ("'a' + '%d' % len(spacy.displacy.render(sentence))", "spacy has no `displacy.render()`"),
    ],
)
def test_unsupported_calls_fail_with_a_sentence(body: str, name: str, tmp_path: Path) -> None:
    found = error(answers(PROBE, goal(f"\n    return {body}\n"), tmp_path / "box", cases=[SENTENCE]))
    assert found == f"NotInThisTestError: this test's stand-in for {name}"


@pytest.mark.parametrize(
    ("body", "what"), [("pass", "None"), ("return 1", "a value of type int"), ("return [['1']]", "(list)")]
)
def test_an_answer_that_returns_no_text_fails_with_a_sentence(body: str, what: str, tmp_path: Path) -> None:
    found = error(answers(PROBE, goal(f"\n    {body}\n"), tmp_path / "box", cases=[SENTENCE]))
    assert found == f"WrongReturnError: returned {what} where a text is expected"
