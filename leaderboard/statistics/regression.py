"""Fit the paper's Table 5: a logistic regression of passing on repository structure and model, by statsmodels.

Importing this module takes seconds and 170 MB, so only jobs do.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy.optimize import linprog  # type: ignore[attr-defined]
from statsmodels.tools.sm_exceptions import ModelWarning, PerfectSeparationError

from leaderboard.statistics.results import Regression, Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.statistics.results import TaskCount

PREDICTORS: Final = {
    "directory_depth": "average directory depth",
    "branch_factor": "average branch factor",
    "directory_imbalance": "directory imbalance",
    "goal_length": "goal function length",
}
"""Metrics of a repository, in the order of ``TaskCount.metrics``, with the paper's names."""
MOST_MODELS: Final = 12
"""Number of models, those with the most answers, that have a coefficient each; the others share one."""
OTHERS: Final = "all other models"
LEAST_EVENTS: Final = 2
"""Least number of passes, and of failures, for each coefficient. The paper's own table has nearly four."""


def fit(counts: Sequence[TaskCount]) -> Regression:
    """Regress passing on standardised repository metrics and on the model. Never raises, whatever the data are.

    Metrics are used if every task has them and they differ between tasks. Each is standardised over the answers: its
    mean is subtracted, and the result is divided by its standard deviation. The model with the most answers is the
    reference.
    """
    counts = [each for each in counts if each.passes + each.fails]
    passes = sum(each.passes for each in counts)
    answers = passes + sum(each.fails for each in counts)
    models, names = _models(counts)
    data = _frame(counts, names)
    predictors, left_out = _predictors(data, counts)
    facts: dict[str, Any] = {
        "answers": answers,
        "passes": passes,
        "tasks": len({each.task for each in counts}),
        "papers": len({each.paper for each in counts}),
        "reference": models[0] if models else "",
        "left_out": left_out,
    }
    terms = [PREDICTORS[name] for name in predictors] + [f"model: {model}" for model in models[1:]]
    why = _too_few(passes, answers - passes, len(terms) + 1) if terms else "there is nothing to compare: one model only"
    if not answers:
        why = "no answer has an outcome"
    if why:
        return Regression(terms=(), why=why, **facts)
    formula = " + ".join([*predictors, *(["C(model)"] if len(models) > 1 else [])])
    found = _fit(f"passed ~ {formula}", data, facts["papers"], ["constant", *terms], models)
    return Regression(**facts, **({"terms": (), "why": found} if isinstance(found, str) else {"terms": found}))


def _too_few(passes: int, fails: int, coefficients: int) -> str:
    least = LEAST_EVENTS * coefficients
    if min(passes, fails) >= least:
        return ""
    return f"too few answers: {passes} passed and {fails} failed, and {coefficients} coefficients need {least} of each"


def _models(counts: Sequence[TaskCount]) -> tuple[list[str], dict[str, str]]:
    """Return the models with a coefficient, the one with the most answers first, and the code of every model."""
    answers: Counter[str] = Counter()
    for each in counts:
        answers[each.model] += each.passes + each.fails
    ordered = sorted(answers, key=lambda model: (-answers[model], model))
    shown = ordered[:MOST_MODELS]
    rest = ordered[MOST_MODELS:]
    codes = {model: f"m{number:02}" for number, model in enumerate(shown)}
    codes |= dict.fromkeys(rest, f"m{MOST_MODELS:02}")
    return [*shown, *([OTHERS] if rest else [])], codes


def _frame(counts: Sequence[TaskCount], codes: dict[str, str]) -> pd.DataFrame:
    """Return one row for each answer."""
    rows = [
        (passed, each.paper, codes[each.model], *(each.metrics or (np.nan,) * len(PREDICTORS)))
        for each in counts
        for passed, number in ((1, each.passes), (0, each.fails))
        for _ in range(number)
    ]
    return pd.DataFrame(rows, columns=["passed", "paper", "model", *PREDICTORS])


def _predictors(data: pd.DataFrame, counts: Sequence[TaskCount]) -> tuple[list[str], tuple[str, ...]]:
    """Standardise usable metrics in place; return their names, and those left out with the reasons."""
    unknown = {each.task for each in counts if each.metrics is None}
    if unknown:
        tasks = len({each.task for each in counts})
        return [], (f"the repository metrics, since {len(unknown)} of {tasks} tasks have no repository here",)
    used, left_out = [], []
    for name, title in PREDICTORS.items():
        # Not the standard deviation, which rounding keeps above zero.
        if data[name].nunique() > 1:
            data[name] = (data[name] - data[name].mean()) / data[name].std(ddof=0)
            used.append(name)
        else:
            left_out.append(f"{title}, which is the same for all tasks")
    return used, tuple(left_out)


def _fit(
    formula: str, data: pd.DataFrame, papers: int, names: Sequence[str], models: Sequence[str]
) -> tuple[Term, ...] | str:
    """Return the terms in the order of ``names``, or the reason why there are none."""
    model = smf.logit(formula, data)
    design = np.asarray(model.exog)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return "the predictors determine one another on so few tasks, so their coefficients cannot be separated"
    separated = _separated(design, np.asarray(model.endog))
    if separated:
        return f"the outcomes are separated{_uniform(data, models)}: the likelihood has no maximum"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ModelWarning)
            warnings.simplefilter("error", RuntimeWarning)
            plain = model.fit(disp=False, maxiter=100)
            clustered = None
            if papers > 1:
                groups = pd.factorize(data["paper"])[0]
                clustered = model.fit(disp=False, maxiter=100, cov_type="cluster", cov_kwds={"groups": groups})
    except (ModelWarning, PerfectSeparationError, RuntimeWarning, np.linalg.LinAlgError):
        return "the fit did not converge"
    intervals = np.asarray(plain.conf_int())
    return tuple(
        Term(
            name=name,
            coefficient=float(plain.params.iloc[place]),
            error=float(plain.bse.iloc[place]),
            z=float(plain.tvalues.iloc[place]),
            p=float(plain.pvalues.iloc[place]),
            low=float(intervals[place, 0]),
            high=float(intervals[place, 1]),
            clustered_error=None if clustered is None else float(clustered.bse.iloc[place]),
            clustered_p=None if clustered is None else float(clustered.pvalues.iloc[place]),
        )
        for place, name in _in_order(plain.params.index, names)
    )


def _in_order(fitted: Any, names: Sequence[str]) -> list[tuple[int, str]]:
    """Pair the index of each fitted term with its name, in our order: the formula puts categories before numbers."""
    numbers = [place for place, name in enumerate(fitted) if name in PREDICTORS]
    models = [place for place, name in enumerate(fitted) if name.startswith("C(model)")]
    return list(zip([list(fitted).index("Intercept"), *numbers, *models], names, strict=True))


def _separated(design: Any, passed: Any) -> bool:
    """Return whether some combination of the predictors separates all passes from all failures (K. Konis 2007).

    If so, the largest sum of correct margins, over bounded coefficients without a wrong margin, is above 0.
    """
    signed = np.unique(design * np.where(passed == 1, 1.0, -1.0)[:, None], axis=0)
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1), method="highs")
    return bool(found.status == 0 and -found.fun > 1e-6)


def _uniform(data: pd.DataFrame, models: Sequence[str]) -> str:
    """Describe which models passed everything or nothing, the usual reason for separation."""
    shares = data.groupby("model")["passed"].mean()
    found = [
        f"{models[int(code[1:])]} passes {'everything' if share else 'nothing'}"
        for code, share in shares.items()
        if share in {0, 1}
    ]
    otherwise = "a combination of predictors separates all passes from all failures"
    return f" ({', '.join(found) or otherwise})"
