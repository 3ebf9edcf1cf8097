"""Normalising task names."""

from __future__ import annotations

import pytest

from submissions.answers.contents import task_named


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("dpo/1", "dpo/1"),
        ("DPO/1", "dpo/1"),
        (" 09-GDPZero/01 ", "gdpzero/1"),
        ("lmr-mini/1-DPO/1", "lmr-mini/dpo/1"),
        ("dpo/*", "dpo/*"),
        ("LMR-Mini/dpo/*", "LMR-Mini/dpo/*"),
        ("dpo/0", "dpo/0"),
        ("dpo", "dpo"),
        ("a/b/c/1", "a/b/c/1"),
        ("", ""),
    ],
)
def test_a_task_may_be_named_by_its_folder(written: str, meant: str) -> None:
    assert task_named(written) == meant
