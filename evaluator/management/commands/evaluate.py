"""``manage.py evaluate``: one task and one model, from the prompt to outcome and verdict, without an account."""

from __future__ import annotations

import json
import os
import secrets
from argparse import ArgumentTypeError
from contextlib import suppress
from getpass import getpass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from benchmark_tasks.domain.queries import revisions_of
from benchmark_tasks.management.suites import newest_version
from evaluator.enums import GenerationState
from evaluator.generation import generating
from evaluator.generation.asking import ask_next
from evaluator.generation.orders import RunOrder
from evaluator.judging.judgements import judge_next
from evaluator.management.shared import ENDED, OneForWrongArguments, evaluate_or_wait
from evaluator.models import AnswerRequest, Judgement, TestRun
from evaluator.providers.guard import ForbiddenAddressError, resolve
from evaluator.providers.stored_clients import policy
from submissions.answers.contents import task_named
from submissions.domain import endpoints
from submissions.domain.operators import local_operator
from submissions.domain.shown_changes import shown_other_changes
from submissions.domain.submitting import cancel
from submissions.endpoints.addresses import AddressError, origin
from submissions.enums import PROVIDERS, Api, Inputs, Kind, OutputLimit, Provider, Scaffold, SubmissionState
from submissions.exceptions import SubmissionError
from submissions.highlighting import code_with_visible_marks
from submissions.models import Endpoint

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator
    from datetime import datetime

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import Generation
    from submissions.models import Submission

EXIT_STOPPED, EXIT_INTERRUPTED = 2, 130
MOST_TEMPERATURE, MOST_TOKENS = 2, 10_000_000
OPTIONS = {"“Name of the output limit”": "--output-limit", "“Leave out strict”": "--omit-strict"}
"""Fields of an endpoint's form, as errors name them, and this command's options that set them."""


class Command(OneForWrongArguments):
    """Ask a model for one task's answer, test it, and have it judged if a judge is configured."""

    help = (
        "Ask a model for the answer to one task and print answer, outcome and verdict. The key is read from the "
        "environment. Exit codes: 0 measured, 1 wrong arguments, 2 stopped by an error, 130 interrupted."
    )

    _reported: datetime | None = None

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the task, the model, and the request's settings."""
        parser.add_argument("--suite", required=True, help="a suite's slug, such as lmr-mini")
        parser.add_argument("--task", required=True, type=task_named, help="a task's name, such as dpo/1")
        parser.add_argument("--provider", required=True, choices=Provider.values)
        parser.add_argument("--model", required=True, help="the model's id at its provider")
        parser.add_argument("--api", choices=Api.values, help="the interface (default: chat or messages)")
        parser.add_argument("--base-url", help="such as http://127.0.0.1:8000/v1 (default: the provider's own)")
        parser.add_argument(
            "--key-variable", help="the variable that holds the key (OPENAI_API_KEY, ANTHROPIC_API_KEY)"
        )
        parser.add_argument("--inputs", choices=Inputs.values, default=Inputs.FULL.value, help="(full)")
        parser.add_argument("--agent", action="store_true", help="let the model work in a box, step by step")
        parser.add_argument(
            "--temperature", type=_temperature, help="(default: the model's own); never sent to Anthropic"
        )
        parser.add_argument("--max-output-tokens", type=_tokens, default=8192, help="of one reply (8192)")
        parser.add_argument("--context-tokens", type=_tokens, default=128_000, help="the model's context (128000)")
        parser.add_argument(
            "--output-limit",
            choices=[name for name in OutputLimit.values if name],
            help="the name of the output limit in Chat Completions (default: chosen by the address)",
        )
        parser.add_argument(
            "--omit-strict",
            action="store_true",
            help="leave strict out of tools and schemas, for servers that refuse it",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Evaluate, storing everything like a run on the site, private and unranked; the key is not stored."""
        version = self._version(options)
        if options["base_url"]:
            _require_allowed_address(options["base_url"])
        try:
            endpoint = endpoints.add(owner=local_operator(), described=_described(options), key=_key(options))
        except SubmissionError as error:
            raise CommandError(str(error)) from None
        try:
            submission = generating.start(owner=local_operator(), endpoint=endpoint, order=_order(version, options))
            self._work(submission)
        except SubmissionError as error:
            raise CommandError(str(error)) from None
        finally:
            _forget(endpoint)
        self._report(submission, as_json=options["json"])

    def _version(self, options: dict[str, Any]) -> SuiteVersion:
        version = newest_version(options["suite"])
        tasks = {each.task.slug: each for each in revisions_of(version)}
        if options["task"] not in tasks:
            msg = f"{version} has no task {options['task']!r}. Tasks: {', '.join(tasks)}."
            raise CommandError(msg)
        if not tasks[options["task"]].runnable:
            msg = f"{options['task']} accepts no answers: {tasks[options['task']].why_left_out}."
            raise CommandError(msg)
        return version

    def _work(self, submission: Submission) -> None:
        """Ask, test and judge in this process, and stop when a person must act."""
        generation = submission.generation
        try:
            while True:
                submission.refresh_from_db()
                generation.refresh_from_db()
                if generation.state in (GenerationState.PAUSED, GenerationState.HELD):
                    cancel(submission=submission, actor=submission.owner)
                    self._stop(generation)
                if submission.state in ENDED:
                    break
                if not ask_next(submission_id=submission.pk):
                    self._report_wait(generation)
                    evaluate_or_wait([submission.pk])
            while judge_next(submission_id=submission.pk):
                pass
        except KeyboardInterrupt:
            cancel(submission=submission, actor=submission.owner)
            self.stderr.write("Interrupted; nothing more is requested or measured.")
            raise SystemExit(EXIT_INTERRUPTED) from None

    def _report_wait(self, generation: Generation) -> None:
        """Print once why no request is sent for a while: a provider may ask to wait for hours."""
        until = Endpoint.objects.filter(pk=generation.endpoint_id or 0).values_list("not_before", flat=True).first()
        if until and until > timezone.now() and until != self._reported:
            self._reported = until
            self.stderr.write(
                f"The provider asks to wait. The next request is sent after {until:%Y-%m-%d %H:%M:%S} UTC."
            )

    def _stop(self, generation: Generation) -> None:
        options = [option for field, option in OPTIONS.items() if field in generation.reason]
        advice = f" Here: {options[0]}." if options else ""
        self.stderr.write(f"Stopped: {generation.reason}{advice}")
        raise SystemExit(EXIT_STOPPED)

    def _report(self, submission: Submission, *, as_json: bool) -> None:
        found = _found(submission)
        if as_json:
            self.stdout.write(json.dumps(found))
        else:
            for title, text in _lines(found):
                self.stdout.write(f"{title + ':':<10} {text}" if title else text)
        raise SystemExit(EXIT_STOPPED if submission.state == SubmissionState.HELD else 0)


def _temperature(text: str) -> float:
    value = float(text)
    if not 0 <= value <= MOST_TEMPERATURE:
        msg = f"{text} is not from 0 to {MOST_TEMPERATURE}"
        raise ArgumentTypeError(msg)
    return value


def _tokens(text: str) -> int:
    value = int(text)
    if not 1 <= value <= MOST_TOKENS:
        msg = f"{text} is not from 1 to {MOST_TOKENS:,}"
        raise ArgumentTypeError(msg)
    return value


def _described(options: dict[str, Any]) -> dict[str, Any]:
    facts = PROVIDERS[Provider(options["provider"])]
    return {
        "name": f"manage.py evaluate {secrets.token_hex(4)}",
        "provider": options["provider"],
        "api": options["api"] or facts.apis[0],
        "base_url": options["base_url"] or facts.address,
        "model": options["model"],
        "temperature": options["temperature"],
        "max_output_tokens": options["max_output_tokens"],
        "context_tokens": options["context_tokens"],
        "output_limit": options["output_limit"] or OutputLimit.AUTOMATIC,
        "omit_strict": options["omit_strict"],
    }


def _require_allowed_address(base_url: str) -> None:
    """Raise ``CommandError`` for an address that this site may not call, with the setting that allows it."""
    try:
        resolve(origin(base_url), policy())
    except (AddressError, ForbiddenAddressError) as error:
        message = str(error)
        if isinstance(error, ForbiddenAddressError) and error.networks:
            allowed = ",".join((*settings.ENVIRONMENT.endpoint_networks, *error.networks))
            message = (
                "This site calls public addresses with https:// on port 443 or 8443, and those that it allows. "
                f"To allow this one, write this line into .env or set the variable: ENDPOINT_NETWORKS={allowed}"
            )
        raise CommandError(f"{base_url}: {message}") from None


def _key(options: dict[str, Any]) -> str:
    name = options["key_variable"] or PROVIDERS[Provider(options["provider"])].key_variable
    key = os.environ.get(name, "").strip()
    if not key and options["key_variable"]:
        msg = f"The environment variable {name} is empty; put the key there."
        raise CommandError(msg)
    # A local server often needs no key; the provider's own address always does.
    return key or ("" if options["base_url"] else getpass(f"Key ({name} is not set): "))


def _order(version: SuiteVersion, options: dict[str, Any]) -> RunOrder:
    return RunOrder(
        version=version,
        inputs=options["inputs"],
        scaffold=Scaffold.AGENT if options["agent"] else Scaffold.NONE,
        tasks=[options["task"]],
        kind=Kind.CALIBRATION,
        notes="manage.py evaluate",
    )


def _forget(endpoint: Endpoint) -> None:
    """Delete the key in every case, and the endpoint unless an error left its run open."""
    try:
        endpoints.delete(endpoint=endpoint, actor=endpoint.owner)
    except SubmissionError:
        with suppress(SubmissionError):
            endpoints.forget_key(endpoint=endpoint, actor=endpoint.owner)


def _found(submission: Submission) -> dict[str, Any]:
    """Return all facts about the one answer, as plain data."""
    request = AnswerRequest.objects.select_related("implementation__revision").get(generation__submission=submission)
    answer = request.implementation
    run = TestRun.objects.current().filter(implementation=answer).first()
    judgements = Judgement.objects.filter(implementation=answer).select_related("config")
    return {
        "submission": submission.pk,
        "not_counted": answer.revision.why_left_out,
        "state": submission.state,
        "taken": request.taken,
        "note": request.note,
        "cuts": request.cuts,
        "answer": answer.goal_source or answer.raw_answer,
        "other_changes": shown_other_changes(answer),
        "error": answer.answer_error,
        "usage": answer.usage,
        "outcome": run.outcome if run else "",
        "reason": run.reason if run else submission.held_reason,
        "judges": [
            {
                "judge": each.config.slug,
                "label": each.label,
                "state": each.state,
                "abstained": each.abstained,
                "reason": each.reason,
            }
            for each in judgements
        ],
    }


def _lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    usage = found["usage"]
    yield "answer", f"{found['taken']}. {found['note']}".rstrip(". ") + "."
    for cut in found["cuts"]:
        yield "left out", f"{cut['part']} ({cut['tokens']} tokens): {cut['why']}"
    yield "", "\n" + code_with_visible_marks(found["answer"].rstrip()) + "\n"
    if found["other_changes"]:
        yield "besides", f"what else the answer changes\n\n{found['other_changes']}\n"
    if found["error"]:
        yield "not used", str(found["error"].get("message", ""))
    tokens = [f"{usage[name]:,}" if name in usage else "unknown" for name in ("input_tokens", "output_tokens")]
    yield "tokens", "{} in, {} out".format(*tokens)
    yield "outcome", " ".join(part for part in (found["outcome"] or found["state"], found["reason"]) if part)
    if found["not_counted"]:
        yield "counts", f"no: {found['not_counted']}"
    if not found["judges"]:
        yield "verdict", "not judged: no judge is configured (see docs/judging.md)"
    for each in found["judges"]:
        label = each["label"] or ("abstained" if each["abstained"] else each["state"])
        yield "verdict", " ".join(part for part in (label, f"by {each['judge']}", each["reason"]) if part)
