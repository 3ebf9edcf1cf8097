"""List the figures of the analysis in the page's order: name, method, explanation, and the function that makes each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from leaderboard.insight.analysis import plane_tables, report_tables, tables, task_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from leaderboard.insight.analysis.data import SuiteResults
    from leaderboard.insight.analysis.figure import Figure


class Section(NamedTuple):
    """A figure's section on the page. ``paper`` is the table or figure that it is a live version of, if any.

    ``title`` names the figure, for lists; its heading is its finding. ``method`` is the line below the heading.
    """

    slug: str
    title: str
    paper: str
    method: str
    reading: str
    make: Callable[[SuiteResults], Figure]


SECTIONS: Final = (
    Section(
        "scores",
        "Scores with intervals",
        "Table 2",
        "Share of tasks whose unit tests pass, with 95 % Wilson intervals; full inputs.",
        "Each point is a run, each bar its interval. Intervals of two runs may overlap although a comparison task by "
        "task separates them, as in the board's ranks. The table has the labels as shares of all tasks, too.",
        tables.scores,
    ),
    Section(
        "inputs",
        "Inputs",
        "Table 3",
        "Best run of each system with each kind of inputs; 95 % Wilson intervals.",
        "Differences of one or two tasks are within every interval.",
        tables.inputs,
    ),
    Section(
        "difficulty",
        "Difficulty of tasks",
        "",
        "Share of ranked runs that pass each task, hardest first; 95 % Wilson intervals.",
        "Runs with any inputs count. Runs of one system are alike, so the intervals are too narrow rather than too "
        "wide.",
        task_tables.difficulty,
    ),
    Section(
        "categories",
        "Categories",
        "",
        "Tasks passed in each category by runs with full inputs; a stronger colour means a higher share.",
        "In a category of one to five tasks a single task changes a cell by 20 to 100 points: read rows, not cells.",
        task_tables.categories,
    ),
    Section(
        "tests-confusion",
        "Tests against labels",
        "",
        "Labels of the answers that pass their tests, and of those that do not.",
        "CC correct, LC right idea with a wrong detail, LI wrong. An answer that passes and is labelled LI may have "
        "met a test that is too weak; one that fails and is labelled CC, a test that is too narrow.",
        report_tables.tests_confusion,
    ),
    Section(
        "contradictions",
        "Judge against tests, by category",
        "",
        "Share of answers that only one of judge and tests accepts; 95 % Wilson intervals.",
        "The judge accepts an answer by the label CC (correct), the tests by passing. Most categories have few "
        "answers, as the intervals show.",
        report_tables.contradictions,
    ),
    Section(
        "binary",
        "Correct, by each rater",
        "Table 6",
        "Share of tasks that pass or are labelled CC (correct); 95 % Wilson intervals.",
        "LC (right idea, wrong detail) and LI (wrong) count together as the rest. Points far apart mean that raters "
        "measure different things.",
        tables.binary,
    ),
    Section(
        "confusion",
        "Judge against annotators",
        "",
        "Answers with each label of one rater, divided by the label of the other.",
        "CC correct, LC right idea with a wrong detail, LI wrong. Two raters that always agree have bars of one "
        "colour. κ in the table is Cohen's; the agreement page has its interval and more statistics.",
        report_tables.confusion,
    ),
    Section(
        "cutoff",
        "Score against knowledge cutoff",
        "",
        "Tests passed with full inputs, by the model's cutoff; 95 % Wilson intervals.",
        "Cutoffs are those that vendors state, as declared by submitters or shipped with the published results. "
        "Runs with the same cutoff are drawn beside each other. A later model also differs in other ways: this does "
        "not show a cause.",
        plane_tables.cutoff,
    ),
    Section(
        "cost",
        "Score against cost",
        "",
        "Tests passed, by the cost of all answers, with 95 % Wilson intervals.",
        "The line joins the runs that no cheaper run equals or beats. Costs are declared by submitters, or counted "
        "if this site queried the model.",
        plane_tables.cost,
    ),
    Section(
        "history",
        "History",
        "",
        "Tests passed with full inputs, by day of publication, with 95 % Wilson intervals.",
        "The line is the best score until then. A record can be luck: look at its interval.",
        plane_tables.history,
    ),
    Section(
        "regression",
        "Repository structure and model",
        "Table 5",
        "Logistic regression of passing; 95 % intervals, ours clustered by paper.",
        "A coefficient above 0 means a higher probability of passing. Repository metrics are standardised: a "
        "coefficient is for one standard deviation. Answers to one paper's tasks are alike, so the errors clustered "
        "by paper are the reliable ones; the plain ones, as in the paper, assume independent answers. Repositories "
        "were not drawn at random: this does not show a cause.",
        report_tables.regression,
    ),
    Section(
        "tasks",
        "Tasks by category",
        "Figure 2",
        "Number of tasks in each of the paper's categories.",
        "All tasks of this version of the suite count.",
        task_tables.tasks,
    ),
    Section(
        "errors",
        "Errors that annotators mark",
        "Figure 7",
        "Share of each class of error in all marks, in closed cases.",
        "Each answer counts once for every class of error that an annotator marked in it. Reviewed answers are not "
        "drawn at random, so the shares are those of disputed answers.",
        report_tables.errors,
    ),
    Section(
        "actions",
        "What agents do",
        "Figure 5",
        "Share of each kind of action, over all answers with known steps.",
        "Each bar is 100 % of one agent's actions. Messages and thoughts count as message, shell and Python as run.",
        report_tables.actions,
    ),
    Section(
        "outcomes",
        "Actions of answers that passed and failed",
        "Figure 6",
        "Mean number of actions for one answer, by the outcome of its tests.",
        "Harder tasks take more steps with any agent, so this does not show a cause.",
        report_tables.outcomes,
    ),
)
BY_SLUG: Final = {section.slug: section for section in SECTIONS}
