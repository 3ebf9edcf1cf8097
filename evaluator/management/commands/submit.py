"""``manage.py submit``: submit a bundle and show its outcomes on the command line."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from django.core.management.base import CommandError
from redis.exceptions import RedisError

from benchmark_tasks.domain.left_out import audited_so_far_text, left_out_text
from evaluator.enums import AttemptState
from evaluator.management.shared import ENDED, EXIT_INVALID, OneForWrongArguments, evaluate_or_wait
from evaluator.models import Attempt
from evaluator.outcomes import Outcome
from evaluator.queue.pushing import opened
from evaluator.testing.planning import plan
from evaluator.testing.progress import summary
from evaluator.waiting import wait_of
from submissions.domain.command_line import add_manifest_arguments, lines, packed, problem_lines
from submissions.domain.operators import OPERATOR, local_operator
from submissions.domain.ownership import team_of
from submissions.domain.publishing import CODE_LICENCES
from submissions.domain.submitting import submit
from submissions.domain.uploads import BundleRefusedError, described_by
from submissions.enums import SubmissionState
from submissions.exceptions import QuotaExceededError, SubmissionError
from submissions.models import Submission, User

if TYPE_CHECKING:
    from argparse import ArgumentParser

EXIT_HELD, EXIT_QUOTA, EXIT_INTERRUPTED = 2, 3, 130
NO_QUEUE = (
    "The queue does not answer: nothing is evaluated until workers run. "
    "Start them (make run), or run this again with --wait."
)


class Command(OneForWrongArguments):
    """Submit a bundle as the local operator or another account."""

    help = "Submit a bundle. Exit codes: 0 scored (or queued), 1 invalid, 2 held, 3 quota, 130 interrupted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the bundle, the account, and whether to wait."""
        parser.add_argument("bundle", type=Path, help="a .zip, .tar.gz, .jsonl or .json file, or an output tree")
        parser.add_argument("--as", dest="username", default=OPERATOR, metavar="USER", help="the account to submit as")
        parser.add_argument("--team", default="", metavar="SLUG", help="the account's team to submit for")
        parser.add_argument("--wait", action="store_true", help="evaluate in this process, with or without workers")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--publish-as",
            default="",
            choices=["", *CODE_LICENCES],
            help="publish when scored, code under this licence",
        )
        add_manifest_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Submit, perhaps wait, print, and exit with the code for the result."""
        self.as_json: bool = options["json"]
        submission = self._submit(options)
        if options["wait"]:
            try:
                self._wait(submission)
            except KeyboardInterrupt:
                submission.refresh_from_db()
                text = f"Interrupted; workers continue with submission {submission.pk}."
                self._end(summary(submission) | {"remarks": self.remarks}, text, EXIT_INTERRUPTED)
        elif submission.state not in ENDED and not _queue_answers():
            self.stderr.write(NO_QUEUE)
        self._report(submission)

    def _submit(self, options: dict[str, Any]) -> Submission:
        """Return the submission, new or existing; end the command if there is none."""
        path: Path = options["bundle"]
        if not (path.is_file() or path.is_dir()):
            msg = f"{path} is not a file or a folder."
            raise CommandError(msg)
        try:
            with packed(path) as file:
                owner = self._owner(options["username"])
                submitted = submit(
                    owner=owner,
                    team=team_of(owner, options["team"]),
                    path=file,
                    described=described_by(options),
                    publish_licence=options["publish_as"],
                )
        except BundleRefusedError as error:
            self._refuse(error)
        except QuotaExceededError as error:
            self._end({"error": str(error)}, str(error), EXIT_QUOTA)
        except SubmissionError as error:
            raise CommandError(str(error)) from None
        self.remarks = [asdict(remark) for remark in submitted.remarks]
        if not self.as_json:
            if not submitted.created:
                self.stdout.write(f"The same bundle was submitted before, as submission {submitted.submission.pk}.")
            for line in problem_lines(self.remarks):
                self.stdout.write(line)
        return submitted.submission

    def _owner(self, username: str) -> User:
        if username == OPERATOR:
            return local_operator()
        owner = User.objects.filter(username=username).first()
        if owner is None:
            msg = f"There is no account {username!r}; accounts are created by signing up on the site."
            raise CommandError(msg)
        return owner

    def _wait(self, submission: Submission) -> None:
        """Evaluate the submission's runs here; wait for those held by other workers."""
        plan(submission.pk)
        shown = ""
        while True:
            submission.refresh_from_db()
            if submission.state in ENDED:
                return
            wait = wait_of(submission, here=True)
            if wait and wait.text != shown and not self.as_json:
                shown = wait.text
                self.stdout.write(f"submission {submission.pk}: {shown}")
            evaluate_or_wait([submission.pk])

    def _refuse(self, error: BundleRefusedError) -> NoReturn:
        report = error.checked.report()
        self._end(report, "\n".join(lines(report)), EXIT_INVALID)

    def _report(self, submission: Submission) -> None:
        submission.refresh_from_db()
        result = summary(submission) | {"remarks": self.remarks}
        passed, total = result["tests"]["passed"], result["tests"]["total"]
        rows = [f"{task['task']:<32} {task['outcome'] or '-'}" for task in result["tasks"]]
        waiting = sum(not task["outcome"] for task in result["tasks"])
        counted = f"{passed:g} of {total} counted tasks passed"
        if result["audited_later"]:
            answers = sum(task["outcome"] != Outcome.NOT_ATTEMPTED for task in result["tasks"])
            counted = audited_so_far_text(result["answers_passed"], answers, total)
        measured = f"{waiting} answer{'' if waiting == 1 else 's'} still to be measured" if waiting else counted
        rows.append(f"submission {submission.pk}: {submission.state}, {measured}")
        if result["left_out"]:
            rows.append(f"{left_out_text(result['left_out'])} (manage.py submit --json and the suite's page say why)")
        text = "\n".join([*rows, submission.held_reason]).rstrip()
        if submission.state == SubmissionState.HELD:
            for reason in _infra_reasons(submission):
                self.stderr.write(f"Held: {reason}")
        self._end(result, text, EXIT_HELD if submission.state == SubmissionState.HELD else 0)

    def _end(self, data: dict[str, Any], text: str, code: int) -> NoReturn:
        self.stdout.write(json.dumps(data) if self.as_json else text)
        raise SystemExit(code)


def _infra_reasons(submission: Submission) -> list[str]:
    """Return full failure reasons, which pages show to maintainers only; a command's user can act on them."""
    failed = Attempt.objects.filter(run__implementation__submission=submission, state=AttemptState.INFRA)
    return sorted(set(failed.exclude(reason="").values_list("reason", flat=True)))


def _queue_answers() -> bool:
    try:
        with opened() as queue:
            return bool(queue.connection.ping())
    except RedisError:
        return False
