"""List the figures of the analysis in the page's order: question, explanation, and the function that makes each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from leaderboard.insight.analysis import report_tables, tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from leaderboard.insight.analysis.data import SuiteResults
    from leaderboard.insight.analysis.figure import Figure


class Section(NamedTuple):
    """A figure's section on the page. ``paper`` is the table or figure that it is a live version of, if any."""

    slug: str
    title: str
    paper: str
    question: str
    reading: str
    make: Callable[[SuiteResults], Figure]


SECTIONS: Final = (
    Section(
        "scores",
        "Scores with intervals",
        "Table 2",
        "How much does each system pass, and how do judge and annotators label the same answers?",
        "Each point is the share of tasks whose unit tests pass, each bar its 95 % Wilson interval. If two overlap, "
        "the order of the points means little. Labels are shares of all tasks: completely correct (CC), logically "
        "correct (LC) and logically incorrect (LI).",
        tables.scores,
    ),
    Section(
        "categories",
        "Categories",
        "",
        "Is a system good at everything, or at some kinds of tasks?",
        "Each cell is the number of tasks passed, out of the tasks in the category; a stronger colour means more. In "
        "a category of one to five tasks a single task changes a cell by 20 to 100 points: read rows, not cells.",
        tables.categories,
    ),
    Section(
        "inputs",
        "What the inputs are worth",
        "Table 3",
        "How much is lost without the repository?",
        "A line joins the best runs of one system that were given the paper alone, the paper and the goal file, and "
        "everything. Dotted lines are reported runs. Differences of one or two tasks are within every interval.",
        tables.inputs,
    ),
    Section(
        "binary",
        "Completely correct, or not",
        "Table 6",
        "Do tests, judge and annotators agree on how much is completely correct?",
        "For each run, the share of tasks that pass their tests, and that judge and annotators label completely "
        "correct. LC and LI count together as the rest. Points far apart mean that raters measure different things.",
        tables.binary,
    ),
    Section(
        "confusion",
        "Judge against annotators",
        "",
        "Which labels does one rater give to answers that another labels CC, LC or LI?",
        "Each bar is the answers with one label from one rater, divided by the other's labels. Two raters that agree "
        "have bars of one colour. κ is Cohen's; intervals and more statistics are on the agreement page.",
        report_tables.confusion,
    ),
    Section(
        "tests-confusion",
        "Tests against judge and annotators",
        "",
        "How often do unit tests and labels contradict each other?",
        "A passed test counts as CC; any other result counts as the rest, as do LC and LI. “rest” by the tests and CC "
        "by a rater may mean that the test is too narrow, the reverse that it is too weak.",
        report_tables.binary_confusion,
    ),
    Section(
        "cost",
        "Score against cost",
        "",
        "Which systems are the best for their cost?",
        "Each point is a run, placed by the cost of all its answers and by its pass rate. A run is on the Pareto front "
        "if no other is cheaper and at least as good, or better and at most as expensive. Costs are declared by "
        "submitters, or counted if this site queried the model.",
        tables.cost,
    ),
    Section(
        "history",
        "History",
        "",
        "How did the best score change?",
        "Each point is a run on the day of its publication; the line is the best score until then. A record can be "
        "luck: look at its interval above.",
        tables.history,
    ),
    Section(
        "tasks",
        "Tasks by category",
        "Figure 2",
        "What are the tasks about?",
        "The number of tasks in each of the paper's nine categories, in this version of the suite.",
        tables.tasks,
    ),
    Section(
        "regression",
        "Repository structure and model",
        "Table 5",
        "Do deep or branching repositories make tasks harder for every model?",
        "A logistic regression of passing on the repository's shape and on the model. A coefficient above 0 means a "
        "higher probability. Repository metrics are standardised: a coefficient is for one standard deviation. Answers "
        "to one paper's tasks are alike, so the standard errors clustered by paper are the reliable ones; the plain "
        "ones, as in the paper, assume independent answers. Repositories were not drawn at random: this does not show "
        "a cause.",
        report_tables.regression,
    ),
    Section(
        "actions",
        "What agents do",
        "Figure 5",
        "How do agents spend their steps?",
        "Each bar is 100 % of one agent's actions, over all answers whose steps are known. Messages and thoughts "
        "count as message, shell and Python as run.",
        report_tables.actions,
    ),
    Section(
        "outcomes",
        "Actions of answers that passed and failed",
        "Figure 6",
        "Do agents work differently on the answers that pass?",
        "Mean numbers of actions for one answer, by the outcome of its tests. Harder tasks take more steps with any "
        "agent, so this does not show a cause.",
        report_tables.outcomes,
    ),
    Section(
        "errors",
        "What goes wrong",
        "Figure 7",
        "What do annotators find in answers that are not correct?",
        "Each answer counts once for every class of error that an annotator marked in it, in closed cases only. "
        "Reviewed answers are not drawn at random, so the shares are those of disputed answers.",
        report_tables.errors,
    ),
)
BY_SLUG: Final = {section.slug: section for section in SECTIONS}
