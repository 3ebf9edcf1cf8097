"""Prompts: their contents for each kind of inputs, and the order in which parts are left out."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evaluator.generation import prompting
from evaluator.generation.paper_sections import Section, SectionKind
from evaluator.generation.papers import Paper
from evaluator.generation.prompting import PromptTask, PromptTooLongError, build_prompt, delimited
from evaluator.providers import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

FILLER = "many words of a paper " * 60
PAPER = Paper(
    title="A Paper About Losses",
    pages=9,
    sections=(
        Section("Abstract", 1, f"abstract-text {FILLER}", 1, SectionKind.ABSTRACT),
        Section("Method", 1, f"method-text {FILLER}", 2, number="2"),
        Section("Results", 1, f"results-text {FILLER}", 5, number="3"),
        Section("Discussion", 1, f"discussion-text {FILLER}", 6, number="4"),
        Section("References", 1, f"references-text {FILLER}", 7, SectionKind.REFERENCES),
        Section("Proofs", 1, f"proofs-text {FILLER}", 8, SectionKind.APPENDIX, number="A"),
    ),
)
MASKED = "@cache\ndef score(\n    x,\n):\n    # TODO\n    raise NotImplementedError\n"
TASK = PromptTask(
    slug="alpha/1",
    instruction="Implement score as in section 2.",
    goal_file="scoring/core.py",
    goal_function="score",
    class_name="",
    goal_file_text=f"goal_file_text = 1\n\n{MASKED}",
    masked_source=MASKED,
    retrieval_context=(
        ("scoring/one.py", f"first_file = 1  # {FILLER}"),
        ("scoring/two.py", f"second_file = 2  # {FILLER}"),
    ),
    paper=PAPER,
)
ORDER = ["references", "proofs", "discussion", "results", "second_file", "first_file", "method", "abstract"]


def words_in(prompt: prompting.Prompt) -> set[str]:
    """Return which of the marked parts the prompt contains."""
    text = prompt.request.messages[0].text
    marks = [*ORDER, "goal_file_text"]
    return {mark for mark in marks if (mark if "_" in mark else f"{mark}-text") in text}


@pytest.mark.parametrize(
    ("inputs", "left_out"),
    [
        ("full", set()),
        ("paper_goal_file", {"first_file", "second_file"}),
        ("paper_only", {"first_file", "second_file", "goal_file_text"}),
    ],
)
def test_each_kind_of_inputs_has_its_material(inputs: str, left_out: set[str]) -> None:
    """As in the paper's Table 3; the signature is always there, since an answer must fit its callers."""
    prompt = build_prompt(TASK, inputs=inputs, input_budget=100_000)
    assert words_in(prompt) == {*ORDER, "goal_file_text"} - left_out
    text = prompt.request.messages[0].text
    assert "@cache\ndef score(\n    x,\n):\n[END SIGNATURE" in text
    assert "Implement score as in section 2." in text
    assert ("raise NotImplementedError" in text) == (inputs != "paper_only")
    assert prompt.cuts == ()


def test_parts_that_do_not_fit_are_left_out_in_order_and_named() -> None:
    whole = build_prompt(TASK, inputs="full", input_budget=100_000).tokens
    seen: list[int] = []
    for budget in range(whole, 600, -150):
        try:
            prompt = build_prompt(TASK, inputs="full", input_budget=budget)
        except PromptTooLongError:
            break
        assert prompt.tokens <= budget
        count = len(prompt.cuts)
        seen.append(count)
        assert words_in(prompt) == {*ORDER[count:], "goal_file_text"}
        text = prompt.request.messages[0].text
        assert all(f"- {cut.part}\n" in text for cut in prompt.cuts)
        assert all(cut.tokens > 250 for cut in prompt.cuts)
    assert sorted(set(seen)) == list(range(len(ORDER) + 1))
    assert prompt.cuts[0].as_data() == {
        "part": "section of the paper: References",
        "tokens": prompt.cuts[0].tokens,
        "why": "The prompt would not fit the model's context.",
    }
    assert [cut.part for cut in prompt.cuts[4:6]] == ["file: scoring/two.py", "file: scoring/one.py"]


@pytest.mark.parametrize(
    ("class_name", "words"),
    [
        ("", "Write the function `score` of `scoring/core.py` in full"),
        ("Scorer", "Write the method `Scorer.score` of `scoring/core.py` in full"),
        ("score", "Write the class `score` of `scoring/core.py` in full"),
    ],
)
def test_the_goal_is_named_as_a_function_method_or_class(class_name: str, words: str) -> None:
    task = replace(TASK, class_name=class_name, alone=class_name == "score", instruction="Costs $5 for $goal.")
    text = build_prompt(task, inputs="full", input_budget=100_000).request.messages[0].text
    assert words in text
    assert "Costs $5 for $goal." in text
    assert ("the method alone, or inside its class" in text) == (class_name == "Scorer")
    assert ("belong inside its body, since nothing beside it may change" in text) == task.alone


def test_inserted_text_cannot_end_its_own_delimiters() -> None:
    inner = delimited("FILE", "x")
    outer = delimited("FILE", inner)
    last = outer.split("\n")[-1]
    assert last not in inner
    assert outer.count(last) == 1


def test_a_missing_paper_and_unread_pages_are_listed() -> None:
    without = build_prompt(replace(TASK, paper=None), inputs="full", input_budget=100_000)
    assert "The paper is not available." in without.request.messages[0].text
    assert without.cuts == (prompting.Cut("the paper", 0, "It is not available here."),)
    assert "Left out of the material" not in without.request.messages[0].text
    assert "You are given part of the code that belongs to a paper" in without.request.system
    cut = build_prompt(replace(TASK, paper=replace(PAPER, cut="Pages from 3 on.")), inputs="full", input_budget=100_000)
    assert [each.as_data() for each in cut.cuts] == [
        {"part": "later pages of the paper", "tokens": 0, "why": "Pages from 3 on."}
    ]


def test_the_version_changes_with_the_prompts_text(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    before = prompting.prompt_version()
    assert before.startswith(f"{prompting.VERSION}.")
    assert len(before) <= 40
    monkeypatch.setattr(prompting, "_FOLDER", tmp_path)
    prompting.prompt_version.cache_clear()
    assert prompting.prompt_version() != before
    prompting.prompt_version.cache_clear()


@pytest.fixture
def _no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A platform for which the tokenizer is not built."""
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)
    tokens._counter.cache_clear()
    yield
    tokens._counter.cache_clear()


def test_known_texts_have_known_counts() -> None:
    pytest.importorskip("rs_bpe", reason="rs-bpe is not built for this platform")
    counts = [tokens.count(text) for text in ("", "hello world", "def double(x):\n    return 2 * x\n")]
    assert counts == [0, 2, 11]
    assert tokens.counted_with() == "o200k_base"


def test_special_tokens_count_as_text_and_lone_surrogates_are_accepted() -> None:
    pytest.importorskip("rs_bpe", reason="rs-bpe is not built for this platform")
    assert tokens.count("<|endoftext|>") == 7
    assert tokens.count("a\ud800b") == tokens.count("a?b")


@pytest.mark.usefixtures("_no_tokenizer")
def test_without_a_tokenizer_three_bytes_are_a_token() -> None:
    assert [tokens.count(text) for text in ("", "abc", "abcd", "é" * 3, "\ud800")] == [0, 1, 2, 2, 1]
    assert tokens.counted_with() == "an estimate of one token for three bytes"
