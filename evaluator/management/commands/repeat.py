"""``manage.py repeat``: repeat one answer's test run on this machine from its receipt."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import Request, urlopen

from django.core.management.base import CommandError

from evaluator.management.shared import OneForWrongArguments
from evaluator.outcomes import Outcome
from evaluator.repeating.receipts import LARGEST, ReceiptError, read_receipt
from evaluator.repeating.repeating import repeat
from evaluator.sandbox.interface import SandboxError

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from evaluator.repeating.repeating import Repeated

EXIT_DIFFERS = 2
SECONDS = 60
_PAGE = re.compile(r"(?P<site>.*)(?P<answer>/submissions/\d+/answers/[^/]+/\d+/\d+)/?")


class Command(OneForWrongArguments):
    """Repeat a test run from its receipt."""

    help = (
        "Repeat the test run of one answer in this machine's boxes, and compare it with the stored result. Nothing is "
        "stored. Exit codes: 0 the same result, 1 it could not be repeated, 2 the result differs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the receipt and the output."""
        parser.add_argument("receipt", help="the address of the answer's page, or a file that holds its receipt")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Fetch the receipt, repeat the run, compare."""
        try:
            receipt = read_receipt(_content(options["receipt"]))
            found = repeat(receipt)
        except ReceiptError as error:
            raise CommandError(str(error)) from None
        except SandboxError as error:
            msg = f"The test could not be run on this machine: {error}"
            raise CommandError(msg) from None
        if options["json"]:
            self.stdout.write(json.dumps({"address": receipt.answer.address, **asdict(found)}))
        else:
            self.stdout.write(f"{receipt.task.task} by {receipt.answer.system}: {receipt.answer.address}")
            self.stdout.write("\n".join(_lines(found)))
        if found.differences:
            raise SystemExit(EXIT_DIFFERS)


def _lines(found: Repeated) -> list[str]:
    private = f", {found.private_passed} of {found.private_total} private ones" if found.private_total else ""
    result = (
        f"{Outcome(found.outcome).words}: {found.passed} of {found.cases} public test cases{private} ({found.sandbox})"
    )
    if found.differences:
        verdict = ["The result differs from the stored one:", *(f"  {each}" for each in found.differences)]
    else:
        verdict = ["The result equals the stored one in every public test case."]
    return [result, *verdict, *(f"Not the same here: {each}" for each in found.remarks)]


def _content(place: str) -> bytes:
    """Return the receipt's bytes, by the address of the answer's page or from a file. Raises CommandError."""
    if urlsplit(place).scheme not in {"http", "https"}:
        try:
            return Path(place).read_bytes()
        except OSError as error:
            msg = f"{place} is neither an address (https://…) nor a file that can be read: {error.strerror}."
            raise CommandError(msg) from None
    parts = urlsplit(place)
    page = _PAGE.fullmatch(parts.path)
    if page is None:
        msg = f"{place} is not the address of an answer's page (https://…/submissions/1/answers/dpo/1/1/)."
        raise CommandError(msg)
    path = f"{page['site']}/api/v1{page['answer']}/receipt"
    address = urlunsplit(parts._replace(path=path, fragment=""))
    try:
        # The scheme is checked above.
        with urlopen(Request(address, headers={"Accept": "application/json"}), timeout=SECONDS) as reply:  # noqa: S310
            content: bytes = reply.read(LARGEST + 1)
    except (URLError, OSError, ValueError) as error:
        msg = f"{address} could not be fetched: {getattr(error, 'reason', None) or error}."
        raise CommandError(msg) from None
    return content
