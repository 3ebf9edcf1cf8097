"""The tables of ``make load``, and the work that it reports as lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.load.plan import Report, Stored
from tests.load.results import errors_of, lost_work, percentile, request_table, total_table

EXPECTED = {"a/1": "passed", "a/2": "raised"}
REPORT = Report(
    seconds=10.0,
    requests=[("page: board", 0.1, ""), ("page: board", 0.3, ""), ("API: board", 0.7, "500"), ("page: board", 0.2, "")],
    arriving=[("sign in", 2.0, ""), ("sign in", 3.0, "403")],
    errors=["KeyError: 'x'", "KeyError: 'x'"],
    uploads=[1, 2, 3],
    submissions=[11, 12],
    labels=[21],
)
STORED = Stored(
    uploads=[1, 2, 3],
    states={"11": "scored", "12": "scored"},
    outcomes={"11": EXPECTED, "12": EXPECTED},
    accepted=[1, 1, 1, 1],
    labels=[21],
    scored_after=4.4,
)


def test_nothing_is_lost_if_everything_accepted_is_stored_once_and_scored() -> None:
    assert lost_work(REPORT, STORED, EXPECTED) == []


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (replace(STORED, uploads=[1, 3]), "The upload 2 was accepted 1 times and stored 0 times."),
        (replace(STORED, uploads=[1, 2, 3, 4]), "The upload 4 is stored 1 times more than it was accepted."),
        (
            replace(STORED, states={"12": "scored"}, outcomes={"12": EXPECTED}),
            "The submission 11 was accepted 1 times and stored 0 times.",
        ),
        (replace(STORED, states={"11": "held", "12": "scored"}), "Submission 11 is held, not scored."),
        (
            replace(STORED, outcomes={"11": EXPECTED, "12": EXPECTED | {"a/2": "passed"}}),
            f"Submission 12 has the outcomes {EXPECTED | {'a/2': 'passed'}}, not {EXPECTED}.",
        ),
        (replace(STORED, outcomes={"11": EXPECTED}), f"Submission 12 has the outcomes {{}}, not {EXPECTED}."),
        (replace(STORED, accepted=[1, 2, 1, 1]), "A test run has 2 accepted results."),
        (replace(STORED, labels=[]), "The label of assignment 21 was accepted 1 times and stored 0 times."),
        (replace(STORED, labels=[21, 21]), "The label of assignment 21 is stored 1 times more than it was accepted."),
    ],
)
def test_each_loss_is_one_sentence(changed: Stored, sentence: str) -> None:
    assert lost_work(REPORT, changed, EXPECTED) == [sentence]


def test_a_percentile_is_one_of_the_times() -> None:
    assert [percentile([3.0, 1.0, 2.0], share) for share in (0.0, 0.5, 0.95)] == [1.0, 2.0, 3.0]
    assert percentile([float(n) for n in range(100)], 0.95) == 94.0


def test_the_tables_count_requests_by_kind_and_compare_the_whole_with_the_goals() -> None:
    assert request_table(REPORT)[2:] == [
        "| API: board | 1 | 1 | 700 ms | 700 ms | 700 ms |",
        "| page: board | 3 | 0 | 200 ms | 300 ms | 300 ms |",
        "| **all** | 4 | 1 | 200 ms | 700 ms | 700 ms |",
    ]
    assert total_table(REPORT, STORED, ["after 3 s Redis killed"], [])[2:] == [
        "| requests a second | 0.4 |  |  |",
        "| requests, p95 | 700 ms | < 500 ms | no |",
        "| before that, while the users arrived, p95 | 3,000 ms |  |  |",
        "| errors | 4 | 0 | no |",
        "| files received, stored | 3, 3 | equal | yes |",
        "| submissions accepted, scored | 2, 2 | equal | yes |",
        "| last one scored after the end | 4 s |  |  |",
        "| labels accepted, stored | 1, 1 | equal | yes |",
        "| work lost, doubled or decided wrongly | 0 | 0 | yes |",
        "| in between | after 3 s Redis killed |  |  |",
    ]
    assert errors_of(REPORT) == ["2 × KeyError: 'x'", "1 × sign in: 403", "1 × API: board: 500"]
