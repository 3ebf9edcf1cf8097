"""A whole instance for the browser: its own data folder and port, real Redis, real workers, real boxes.

Two processes of xdist share one instance: starting it and its first audits take as long as a third of the tests.
"""

from __future__ import annotations

import fcntl
import json
import signal
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.bundles import varied
from tests.evaluator.processes import wait_until
from tests.instances import Instance as WholeInstance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

# Playwright's five seconds are short where a whole instance, its workers and a browser share two processors.
expect.set_options(timeout=20_000)

REVIEW_LEASE_SECONDS = 20
PASSWORD = "quiet-otter-7431"
PRINTED = "looking for the scores in the paper"


class Instance(WholeInstance):
    """A running instance. ``outcomes`` are those that its ``mixed`` bundle must have, by task."""

    mixed: bytes
    outcomes: dict[str, str]

    def bundle(self, *, system: str) -> bytes:
        """The mixed sample as a ranked bundle of ``system``; the answer that raises also prints :data:`PRINTED`."""

        def printing(text: str) -> str:
            return text.replace("return compute_as_in", f"print({PRINTED!r})\n    return compute_as_in")

        return varied(self.mixed, printing, system=system, backbone="otter-1-2026-01", kind="ranked")


# Files that xdist runs beside the others, in one group: a judge is active while test_models runs, and its verdicts
# make notices.
BESIDE = ("test_label_keys", "test_models", "test_notices", "test_reviewing")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let the files of each group run one after the other, as without xdist."""
    item.add_marker(pytest.mark.xdist_group("reviewing" if item.path.stem in BESIDE else "visiting"))


@pytest.fixture(scope="session")
def instance(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Instance]:
    """``manage.py serve --setup``, as ``make run`` calls it, until the last browser test is done.

    The first process of xdist starts it, and stops it once the others no longer use it.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "instance"
    folder.mkdir(exist_ok=True)
    port = folder / "port"
    with (folder / "starting").open("w") as starting, (folder / "using").open("w") as using:
        fcntl.flock(starting, fcntl.LOCK_EX)
        fcntl.flock(using, fcntl.LOCK_SH)
        made = _instance(folder)
        if port.exists():
            made.listen(int(port.read_text(encoding="ascii")))
        try:
            if not port.exists():
                made.start("--setup")
                files = ("--output", str(folder / "mixed.zip"), "--expected", str(folder / "expected.json"))
                made.printed("sample_bundle", "mixed", "--suite", "lmr-mini", *files)
                port.write_text(str(made.port), encoding="ascii")
            made.mixed = (folder / "mixed.zip").read_bytes()
            made.outcomes = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
            fcntl.flock(starting, fcntl.LOCK_UN)
            yield made
        finally:
            if made.process:
                # Without this lock, a process that starts now would start another instance.
                fcntl.flock(starting, fcntl.LOCK_EX)
                fcntl.flock(using, fcntl.LOCK_EX)
                port.unlink(missing_ok=True)
                made.stop(signal.SIGINT)


def _instance(folder: Path) -> Instance:
    return Instance(
        folder,
        WEB_WORKERS="2",
        LEASE_SECONDS="20",
        REVIEW_LEASE_SECONDS=str(REVIEW_LEASE_SECONDS),
        # No answers are sampled for review: only disputes between tests and judges are.
        REVIEW_AUDIT_SHARE="0",
        REVIEW_GAP_SHARE="0",
        REVIEW_REPEAT_SHARE="0",
        ENDPOINT_NETWORKS="127.0.0.0/8",
        # Another test covers the whole audit; here it would only delay the first test.
        AUDIT_MUTANTS="3",
    )


@pytest.fixture(scope="session")
def audited(instance: Instance) -> None:
    """Wait until workers have audited the tasks: boards count audited tasks only, and pages respond before."""
    wait_until(lambda: "tasks are audited" not in instance.get("/suites/lmr-mini/")[1], "the audits", seconds=600)


@pytest.fixture(scope="session")
def base_url(instance: Instance) -> str:
    """Addresses in tests are paths on the instance."""
    return instance.address


@pytest.fixture(scope="session")
def signed_up(browser: Browser, browser_context_args: dict[str, Any]) -> Any:
    """The cookies of an account that was made through the pages."""
    context = browser.new_context(**browser_context_args)
    sign_up(context.new_page(), "otter")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def owner(browser: Browser, browser_context_args: dict[str, Any], signed_up: Any) -> Iterator[BrowserContext]:
    """A browser in which the account of ``signed_up`` is signed in."""
    context = browser.new_context(**browser_context_args, storage_state=signed_up)
    yield context
    context.close()


def sign_up(page: Page, name: str) -> None:
    """Make an account through the form."""
    page.goto("/accounts/signup/")
    typed = {"username": name, "email": f"{name}@mail.example", "password1": PASSWORD, "password2": PASSWORD}
    for field, text in typed.items():
        page.locator(f"input[name={field}]").fill(text)
    page.locator("main button[type=submit]").click()
    page.wait_for_url("**/my/")


def submit_bundle(page: Page, content: bytes, name: str = "answers.zip") -> None:
    """Upload, check and submit a bundle; ends on the submission's page."""
    page.goto("/submit/")
    page.get_by_label("File").set_input_files({"name": name, "mimeType": "application/zip", "buffer": content})
    page.get_by_role("button", name="Check").click()
    page.wait_for_url("**/submit/*/")
    # A worker checks the file; the page polls for the result.
    expect(page.get_by_role("heading", name="Check of")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/submissions/*/")


def publish(page: Page) -> None:
    """Publish a scored submission from its page."""
    expect(page.locator("#publish")).to_be_visible()
    page.locator("#publish input[name=consent]").check()
    page.locator("#publish select[name=licence]").select_option("CC-BY-4.0")
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Published: it is on the board now.")).to_be_visible()
