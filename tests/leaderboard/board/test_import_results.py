"""``manage.py import_results``: each trap of upstream's files, and the numbers (docs/design/published-numbers.md)."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_tasks.domain.facts_suite import ensure_categories, load_facts
from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.models import Suite
from leaderboard.board.reported import SHIPPED_FILE, load_published
from leaderboard.board.upstream_results import FileFate, read_files
from leaderboard.models import EntryMetric, ReportedAggregate, ReportedResult
from submissions.domain.audit import history
from tests.benchmark_tasks.factories import SuiteFactory
from tests.conftest import examples

if TYPE_CHECKING:
    from pathlib import Path

    from submissions.models import AuditEvent

pytestmark = pytest.mark.django_db

JUDGE = "llm_as_a_judge_evaluation/OpenHands/gpt4o"
DPO = "1-DPO_direct-preference-optimization_0_analysis.txt"
TESTS = "unit_test_evaluation/OpenHands/gpt4o/results.txt"


@pytest.fixture
def suite() -> Suite:
    """The shipped lmr-bench with its published results."""
    cache.clear()
    ensure_categories()
    load_facts()
    load_published()
    return Suite.objects.get(slug="lmr-bench")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def write(results: Path, place: str, content: str | bytes) -> None:
    path = results / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def human(code: int, index: int = 0, paper: int = 1, **changes: Any) -> dict[str, Any]:
    entry = {"annotator": "Jane Roe", "agent_type": "openhands_agent", "model_name": "gpt4o", "comment": "No loop."}
    return {**entry, "paper_index": paper, "function_index": index, "human_judge_result": code, **changes}


def imported(folder: Path, *options: str) -> list[str]:
    stream = io.StringIO()
    call_command("import_results", str(folder), "--suite", "lmr-bench", "-v", "2", *options, stdout=stream)
    return stream.getvalue().splitlines()


def refused(folder: Path, *options: str) -> list[str]:
    stream = io.StringIO()
    with pytest.raises(CommandError, match=r"refused, see above\. The rest was imported\.|Nothing could be read"):
        call_command("import_results", str(folder), "--suite", "lmr-bench", "-v", "2", *options, stdout=stream)
    return stream.getvalue().splitlines()


def result(task: str = "dpo/1", run: str = "openhands-gpt-4o") -> ReportedResult:
    return ReportedResult.objects.get(run__slug=run, task__slug=task)


def events() -> list[AuditEvent]:
    return list(history(Suite.objects.get(slug="lmr-bench")))


def snapshot() -> list[Any]:
    rows = ReportedResult.objects.order_by("pk").values()
    return [list(rows), list(ReportedAggregate.objects.order_by("pk").values())]


class TestUpstreamsOwnFiles:
    @pytest.mark.upstream
    def test_it_gives_the_labels_that_are_shipped(self, suite: Suite, shared: Path) -> None:
        rated = ("run__slug", "task__slug", "tests_passed", "tests_note", "judge_label", "human_label")
        shipped = list(ReportedResult.objects.order_by("pk").values_list(*rated))
        lines = imported(shared)
        assert list(ReportedResult.objects.order_by("pk").values_list(*rated)) == shipped
        assert (lines[-9], lines[-1]) == ("177 files read, 6 skipped, 0 refused", "168 results changed")

    @pytest.mark.upstream
    def test_texts_are_kept_without_names_and_survive_a_restart(self, suite: Suite, shared: Path) -> None:
        first = imported(shared / "results")
        judged = ReportedResult.objects.exclude(judge_text="")
        assert (judged.count(), ReportedResult.objects.exclude(human_annotator=None).count()) == (168, 168)
        folder = shared / "results"
        assert result().judge_text == (folder / JUDGE / DPO).read_text(encoding="utf-8")
        files = sorted((folder / "human_evaluation").glob("*.json"))
        written = [entry["comment"] for file in files for entry in json.loads(file.read_text(encoding="utf-8"))]
        kept = ReportedResult.objects.exclude(human_comment="").values_list("human_comment", flat=True)
        assert sorted(kept) == sorted(comment for comment in written if comment)
        assert set(ReportedResult.objects.values_list("human_annotator", flat=True)) == {None, 1, 2, 3, 4}
        stored = json.dumps([*ReportedResult.objects.values(), *(event.data for event in events())], default=str)
        assert not [file.stem for file in files if file.stem in stored.casefold()]
        assert not [file.stem for file in files if file.stem in SHIPPED_FILE.read_text(encoding="utf-8").casefold()]
        before = snapshot()
        assert imported(shared / "results")[:-1] == first[:-1]
        load_published()
        assert (snapshot(), len(events())) == (before, 1)


class TestTraps:
    def test_codes_from_0_to_2_and_from_1_to_3(self, suite: Suite, results: Path) -> None:
        write(results, "human_evaluation/a.json", json.dumps([human(0), human(2, index=4, paper=16)]))
        write(results, "human_evaluation/b.json", json.dumps([human(3, paper=3), human(1, 3, paper=16)]))
        assert imported(results)[0] == "read     human_evaluation/a.json: 2 labels of 2 tasks, 2 comments"
        found = {task: result(task) for task in ("dpo/1", "knowprob/4", "knowprob/5")}
        assert {task: (row.human_label, row.human_annotator, row.human_comment) for task, row in found.items()} == {
            "dpo/1": ("LI", 1, "No loop."),
            "knowprob/4": ("LI", 2, "No loop."),
            "knowprob/5": ("CC", 1, "No loop."),
        }

    def test_a_judges_text_is_kept_without_byte_order_mark_and_foreign_line_ends(
        self, suite: Suite, results: Path
    ) -> None:
        write(results, f"{JUDGE}/{DPO}", b"\xef\xbb\xbfWrong.\r\n\r\n1\r\n")
        lines = imported(results)
        assert lines[0] == f"read     {JUDGE}/{DPO}: dpo/1: LI"
        assert "; judge lacks " in lines[2]
        assert (result().judge_label, result().judge_text) == ("LI", "Wrong.\n\n1\n")

    def test_skipped_files_are_listed_with_reasons(self, suite: Suite, results: Path) -> None:
        write(results, f"{JUDGE}/{DPO}", "3")
        for place in (f"{JUDGE}/summary.txt", f"{JUDGE}/.DS_Store", f"{JUDGE}/notes.md", "elsewhere/results.txt"):
            write(results, place, b"x\x00")
        assert {line for line in imported(results) if line.startswith("skipped")} == {
            f"skipped  {JUDGE}/summary.txt: counts only a part of the answers beside it",
            f"skipped  {JUDGE}/.DS_Store: a hidden file",
            f"skipped  {JUDGE}/notes.md: unknown: not called …_analysis.txt",
            "skipped  elsewhere/results.txt: unknown: upstream keeps no results here",
        }

    @pytest.mark.parametrize(
        ("place", "content", "why"),
        [
            (f"{JUDGE}/{DPO.replace('DPO', 'dpo')}", "2", "second answer of the judge for dpo/1"),
            (f"{JUDGE}/7-bertscore_bert_score_0_analysis.txt", b"\xff\xfe", "not UTF-8 text"),
            (f"{JUDGE}/7-bertscore_bert_score_0_analysis.txt", "x" * 1_000_001, "larger than 1,000,000 bytes"),
            ("human_evaluation/a.json", json.dumps([human(3), human(2)]), "more than one label for OpenHands gpt4o"),
        ],
    )
    def test_a_bad_file_does_not_stop_the_others(
        self, suite: Suite, results: Path, place: str, content: str | bytes, why: str
    ) -> None:
        write(results, f"{JUDGE}/{DPO}", "Right.\n\n3")
        write(results, place, content)
        (line,) = [line for line in refused(results) if line.startswith("refused")]
        assert line.startswith(f"refused  {place}: ")
        assert why in line
        assert result().judge_text == "Right.\n\n3"

    def test_a_second_annotator_of_a_task_is_refused_without_a_name(self, suite: Suite, results: Path) -> None:
        write(results, "human_evaluation/a.json", json.dumps([human(3)]))
        write(results, "human_evaluation/b.json", json.dumps([human(0, model_name="gpt4.1")]))
        lines = refused(results)
        assert "human_evaluation, file 2: dpo/1 has a second annotator." in lines[1]
        assert "Jane" not in " ".join(lines)
        assert (result().human_label, result(run="openhands-gpt-4.1").human_annotator) == ("CC", None)

    def test_long_texts_are_cut_and_unstorable_characters_replaced(self, suite: Suite, results: Path) -> None:
        write(results, f"{JUDGE}/{DPO}", f"\0{'é' * 30_000}\n3")
        write(results, "human_evaluation/a.json", json.dumps([human(3, comment="half \ud83d here")]))
        lines = imported(results)
        assert f"read     {JUDGE}/{DPO}: dpo/1: CC, cut to 20000 of 30003 characters" in lines
        row = result()
        assert row.judge_text == f"\N{REPLACEMENT CHARACTER}{'é' * 19_999}"
        assert row.human_comment == "half \N{REPLACEMENT CHARACTER} here"

    def test_a_run_that_was_not_reported_is_refused(self, suite: Suite, results: Path) -> None:
        text = "15-EmpathyBias/unit_test_1.log: PASS\nTotal log files: 1\nPassed files: 1"
        write(results, TESTS.replace("OpenHands/gpt4o", "BaseAgent/claude3.7"), text)
        lines = refused(results)
        assert "refused  no-agent-claude-3.7: this site has no such reported run (1 test outcomes, 0" in lines[2]


def test_a_dry_run_stores_nothing_and_prints_the_same(suite: Suite, results: Path) -> None:
    write(results, f"{JUDGE}/{DPO}", "Right.\n\n3")
    before = snapshot()
    dry = imported(results, "--dry-run")
    assert dry[-1] == "1 results would change; nothing was stored"
    assert (snapshot(), events()) == (before, [])
    assert imported(results)[:-1] == dry[:-1]
    assert imported(results)[-1] == "nothing changed"
    (event,) = events()
    assert (event.verb, event.data) == ("imported", {"runs": ["openhands-gpt-4o"], "results": 1})


def test_imported_results_replace_the_papers_total_and_survive_a_restart(suite: Suite, results: Path) -> None:
    papers = [(f"{p.instance_id}-{p.folder_name.split('-', 1)[1]}", len(p.tasks)) for p in lmr_bench().papers]
    lines = [f"{name}/unit_test_{number + 1}.log: PASS" for name, count in papers for number in range(count)]
    place = TESTS.replace("OpenHands/gpt4o", "BaseAgent/gpt4o")
    write(results, place, "\n".join([*lines, "Total log files: 28\nPassed files: 28"]))
    assert imported(results)[-1] == "28 results changed"
    metric = EntryMetric.objects.get(entry__reported_run__slug="no-agent-gpt-4o", category=None)
    assert (metric.tests_passed, metric.tasks) == (28.0, 28)
    before = snapshot()
    load_published()
    assert snapshot() == before


def test_loading_the_shipped_results_again_writes_nothing(suite: Suite, django_assert_max_num_queries: Any) -> None:
    keys = list(EntryMetric.objects.order_by("pk").values_list("pk", flat=True))
    with django_assert_max_num_queries(14) as queries:
        load_published()
    assert not [query["sql"] for query in queries if query["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert list(EntryMetric.objects.order_by("pk").values_list("pk", flat=True)) == keys


def test_a_shipped_result_that_differs_is_stored_again(suite: Suite) -> None:
    before = snapshot()
    ReportedResult.objects.filter(task__slug="dpo/1").exclude(judge_label="").update(judge_label="CC")
    ReportedAggregate.objects.update(printed=1)
    load_published()
    assert snapshot() == before


def test_files_are_counted_by_kind_and_refused_ones_named(suite: Suite, results: Path) -> None:
    for paper, name in ((1, "a"), (2, "b")):
        write(results, f"human_evaluation/{name}.json", json.dumps([human(3, paper=paper)]))
        write(results, f"notes/{name}.txt", "")
    write(results, f"{JUDGE}/{DPO}", b"no digit at all")
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 refused, see above"):
        call_command("import_results", str(results), "--suite", "lmr-bench", stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith(f"refused  {JUDGE}/{DPO}: ")
    assert lines[1:4] == [
        "read     human_evaluation: 2 files, such as human_evaluation/a.json",
        "skipped  unknown: upstream keeps no results here: 2 files, such as notes/a.txt",
        "2 files read, 2 skipped, 1 refused",
    ]


def test_errors_about_wrong_arguments_name_the_remedy(suite: Suite, tmp_path: Path) -> None:
    SuiteFactory(slug="other")
    for slug, folder, message in (
        ("absent", "", "There is no suite 'absent'. Known: lmr-bench"),
        ("other", "", "The suite 'other' has no reported runs here"),
        ("lmr-bench", "", "holds no folder 'results'"),
        ("lmr-bench", "nope", "nope does not exist; give the folder of upstream's result files"),
    ):
        with pytest.raises(CommandError) as error:
            call_command("import_results", str(tmp_path / folder), "--suite", slug)
        assert message in str(error.value)


@settings(max_examples=examples(40))
@given(
    content=st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    place=st.sampled_from([f"{JUDGE}/{DPO}", TESTS, "human_evaluation/a.json"]),
)
def test_any_bytes_are_read_or_refused(content: bytes, place: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    results = tmp_path_factory.mktemp("fuzz") / "results"
    write(results, place, content)
    (file,) = read_files(results, lmr_bench()).files
    assert file.fate in (FileFate.READ, FileFate.REFUSED)
    assert file.what
