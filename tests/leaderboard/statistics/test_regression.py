"""The logistic regression, against another implementation and the sandwich formula; and data without a fit."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM

from benchmark_tasks.facts.lmr_bench import lmr_bench
from leaderboard.statistics.regression import MOST_MODELS, OTHERS, PREDICTORS, fit
from leaderboard.statistics.results import Regression, TaskCount

METRICS = ((1.0, 2.0, 0.5, 10.0), (2.0, 1.5, 0.1, 40.0), (3.0, 1.0, 0.9, 20.0), (2.5, 3.0, 0.4, 90.0))


def count(task: str, model: str, passes: int, fails: int, metrics: Any = None) -> TaskCount:
    return TaskCount(task, task.rpartition("/")[0], model, passes, fails, metrics)


def sample(tasks: int = 14, models: int = 3, seed: int = 3) -> list[TaskCount]:
    """Made-up answers to ``tasks`` tasks, two of each paper."""
    chance = random.Random(seed)  # noqa: S311 - the same numbers each time, and no secret
    shapes = [tuple(round(chance.uniform(0, 9), 2) for _ in PREDICTORS) for _ in range(tasks)]
    return [
        count(
            f"p{number // 2}/{number % 2 + 1}",
            f"model {model}",
            passes := chance.randint(0, 9) + (model == 1),
            11 - model - passes,
            shape,
        )
        for number, shape in enumerate(shapes)
        for model in range(models)
    ]


def design(counts: list[TaskCount]) -> tuple[Any, Any, Any]:
    """Constant, standardised metrics and dummies, made without a formula; outcomes; papers. One row an answer."""
    rows = [
        (passed, each.paper, each.model, *(each.metrics or ()))
        for each in counts
        for passed, number in ((1, each.passes), (0, each.fails))
        for _ in range(number)
    ]
    data = pd.DataFrame(rows)
    numbers = data[[3, 4, 5, 6]].to_numpy(dtype=float)
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    dummies = np.column_stack([(data[2] == name).to_numpy(dtype=float) for name in ("model 1", "model 2")])
    return np.column_stack([np.ones(len(data)), numbers, dummies]), data[0].to_numpy(dtype=float), data[1].to_numpy()


def test_coefficients_and_errors_are_those_of_a_generalised_linear_model() -> None:
    """The same likelihood, maximised by another algorithm: iteratively reweighted least squares."""
    counts = sample()
    found = fit(counts)
    matrix, passed, _ = design(counts)
    wanted = GLM(passed, matrix, family=Binomial()).fit()
    assert [term.name for term in found.terms] == ["constant", *PREDICTORS.values(), "model: model 1", "model: model 2"]
    for name, values in (("coefficient", wanted.params), ("error", wanted.bse), ("z", wanted.tvalues)):
        assert [getattr(term, name) for term in found.terms] == pytest.approx(list(values), rel=1e-4), name
    assert [term.p for term in found.terms] == pytest.approx(list(wanted.pvalues), abs=1e-5)
    assert [[term.low, term.high] for term in found.terms] == [
        pytest.approx(list(interval), rel=1e-3, abs=1e-4) for interval in wanted.conf_int()
    ]
    facts = (found.answers, found.passes, found.tasks, found.papers, found.reference, found.left_out, found.why)
    assert facts == (len(passed), int(passed.sum()), 14, 7, "model 0", (), "")


def test_clustered_errors_are_those_of_a_clustered_generalised_linear_model() -> None:
    counts = sample()
    matrix, passed, papers = design(counts)
    groups = pd.factorize(papers)[0]
    wanted = GLM(passed, matrix, family=Binomial()).fit(cov_type="cluster", cov_kwds={"groups": groups})
    found = fit(counts)
    assert [term.clustered_error for term in found.terms] == pytest.approx(list(wanted.bse), rel=1e-4)
    assert [term.clustered_p for term in found.terms] == pytest.approx(list(wanted.pvalues), abs=1e-4)


def test_clustered_errors_are_the_sandwich_over_papers() -> None:
    """Cameron and Miller 2015: the inverse information around the sum of outer products of each paper's score."""
    counts = sample()
    found = fit(counts)
    matrix, passed, papers = design(counts)
    coefficients = np.array([term.coefficient for term in found.terms])
    fitted = 1 / (1 + np.exp(-matrix @ coefficients))
    bread = np.linalg.inv(matrix.T @ (matrix * (fitted * (1 - fitted))[:, None]))
    scores = matrix * (passed - fitted)[:, None]
    groups = [scores[papers == paper].sum(axis=0) for paper in sorted(set(papers))]
    meat = sum(np.outer(score, score) for score in groups)
    n, k, g = len(passed), matrix.shape[1], len(groups)
    covariance = bread @ meat @ bread * g / (g - 1) * (n - 1) / (n - k)
    assert [term.clustered_error for term in found.terms] == pytest.approx(list(np.sqrt(np.diag(covariance))), rel=1e-4)
    assert all(term.clustered_p is not None and 0 <= term.clustered_p <= 1 for term in found.terms)


def test_one_paper_has_no_clusters() -> None:
    counts = [count(f"p/{number}", model, 9, 8, None) for number in range(3) for model in ("A", "B")]
    found = fit([*counts, count("p/9", "A", 2, 9)])
    assert [term.name for term in found.terms] == ["constant", "model: B"]
    assert {(term.clustered_error, term.clustered_p) for term in found.terms} == {(None, None)}


def test_many_models_share_a_coefficient() -> None:
    models = [count("p/1", f"m{number:02}", 20 - number, 20) for number in range(MOST_MODELS + 3)]
    found = fit([*models, *(count("q/1", f"m{number:02}", 12, 11) for number in range(MOST_MODELS + 3))])
    assert len(found.terms) == MOST_MODELS + 1
    assert (found.reference, found.terms[-1].name) == ("m00", f"model: {OTHERS}")


def reason(counts: list[TaskCount]) -> str:
    """Return the reason why there are no numbers."""
    found = fit(counts)
    assert found.terms == ()
    return found.why


def test_too_few_answers_have_a_reason_and_no_numbers() -> None:
    assert reason([]) == "no answer has an outcome"
    assert reason([count("p/1", "A", 0, 0)]) == "no answer has an outcome"
    assert reason([count("p/1", "A", 9, 9)]) == "there is nothing to compare: one model only"
    wanted = "too few answers: 3 passed and 9 failed, and 2 coefficients need 4 of each"
    assert reason([count("p/1", "A", 1, 5), count("p/1", "B", 2, 4)]) == wanted


def test_separated_outcomes_have_a_reason_and_no_numbers() -> None:
    wanted = "the outcomes are separated (B passes everything): the likelihood has no maximum"
    assert reason([count("p/1", "A", 9, 9), count("q/1", "B", 9, 0)]) == wanted
    assert "C passes nothing" in reason([count("p/1", "A", 9, 9), count("q/1", "B", 9, 3), count("q/1", "C", 0, 9)])
    # A line through depth and length separates passes from failures; no single predictor does.
    shapes = [(1.0, 0, 0, 1.0), (2.0, 0, 0, 3.0), (3.0, 0, 0, 2.0), (4.0, 0, 0, 5.0)]
    slopes = [count(f"p{n}/1", "A", *((9, 0) if n % 2 else (0, 9)), shape) for n, shape in enumerate(shapes)]
    assert "a combination of predictors separates all passes from all failures" in reason(slopes)


def test_predictors_that_determine_one_another_have_a_reason_and_no_numbers() -> None:
    """Two tasks: all four metrics rise and fall together."""
    counts = [count(f"p{n}/1", model, 20, 22, METRICS[n]) for n in range(2) for model in ("A", "B")]
    assert reason(counts).startswith("the predictors determine one another on so few tasks")


def test_metrics_are_used_where_all_tasks_have_them_and_they_differ() -> None:
    shapes = [(1.714286, 1.0, length, 3.0) for length in (1.0, 4.0, 2.0)]
    alike = fit([count(f"p{n}/1", model, 9 + n, 10, shapes[n]) for n in range(3) for model in ("A", "B")])
    assert [term.name for term in alike.terms] == ["constant", "directory imbalance", "model: B"]
    assert alike.left_out == tuple(
        f"{PREDICTORS[name]}, which is the same for all tasks"
        for name in ("directory_depth", "branch_factor", "goal_length")
    )
    some = fit([count("p/1", "A", 9, 9, METRICS[0]), count("q/1", "A", 9, 9), count("q/1", "B", 9, 6)])
    assert some.left_out == ("the repository metrics, since 1 of 2 tasks have no repository here",)
    assert [term.name for term in some.terms] == ["constant", "model: B"]


@given(
    st.lists(
        st.builds(
            count,
            st.sampled_from(["p/1", "p/2", "q/1", "r/1"]),
            st.sampled_from(["A", "B", "C `x` ~ y"]),
            st.integers(0, 30),
            st.integers(0, 30),
            st.sampled_from([None, *METRICS]),
        ),
        max_size=12,
    )
)
def test_any_counts_give_numbers_or_a_reason(counts: list[TaskCount]) -> None:
    found: Regression = fit(counts)
    assert bool(found.terms) != bool(found.why)
    assert all(np.isfinite([term.coefficient, term.error, term.p, term.low]).all() for term in found.terms)
    assert all(term.error < 100 for term in found.terms)


def test_the_reported_runs_by_model() -> None:
    """Five runs of upstream's files. Without metrics, a coefficient is a log odds ratio of two shares."""
    papers = [task.slug for paper in lmr_bench().papers for task in paper.tasks]
    passes = {"GPT-4.1": (12, 10), "GPT-4o": (7,), "o4-mini": (10,), "Claude 3.7": (14,)}
    counts = [
        count(slug, model, int(place < passed), int(place >= passed))
        for model, runs in passes.items()
        for passed in runs
        for place, slug in enumerate(papers)
    ]
    found = {term.name: term.coefficient for term in fit(counts).terms}
    odds = {model: sum(runs) / (28 * len(runs) - sum(runs)) for model, runs in passes.items()}
    assert found["constant"] == pytest.approx(np.log(odds["GPT-4.1"]), abs=1e-6)
    for model in ("GPT-4o", "o4-mini", "Claude 3.7"):
        assert found[f"model: {model}"] == pytest.approx(np.log(odds[model] / odds["GPT-4.1"]), abs=1e-6)
