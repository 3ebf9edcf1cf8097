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
    ],
)
def test_attributes_of_tokens_and_spans(expression: str, value: Any, tmp_path: Path) -> None:
    body = f"\n    doc = spacy.load('en')(sentence)\n    return '1 ' + repr(({expression})).replace(' ', '~')\n"
    (output,) = outputs(answers(PROBE, goal(body), tmp_path / "box", cases=[SENTENCE]))
    assert output["rows"] == [["1", repr(value).replace(" ", "~")]]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("spacy.load('en')(sentence)[0].similarity(1)", "spaCy has no `Token.similarity`"),
        ("spacy.load('en')(sentence)._.conll_str", "spaCy has no `Doc._`"),
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
