"""``submission.json`` and ``usage.json``: reading, checking, and saying everything that is wrong at once."""

from __future__ import annotations

import difflib
import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from benchmark_tasks.domain.placeholders import KIT_PLACEHOLDERS
from submissions.answers.foreign_json import ForeignJsonError, JsonValue, read_json
from submissions.answers.intake import refuse
from submissions.answers.types import Manifest, Problem

MANIFEST_FILE = "submission.json"
USAGE_KEYS = ("input_tokens", "output_tokens", "cost_usd", "seconds")
INPUTS = ("full", "paper_only", "paper_goal_file")
KINDS = ("ranked", "calibration")

_REQUIRED = ("suite", "system", "backbone", "inputs")
_KNOWN = (*_REQUIRED, "suite_version", "scaffold", "organisation", "links", "notes", "kind")
_LONGEST = {"suite": 50, "system": 100, "backbone": 100, "scaffold": 100, "organisation": 100, "notes": 4000}
_LONGEST_LINK = 300
_MOST_LINKS = 10
_LARGEST_VERSION = 1_000_000
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LARGEST_USAGE = 1e12


def nearest(wanted: str, known: Sequence[str]) -> str:
    """``did you mean 'x'?`` when something known resembles ``wanted``, else the known ones (the first ten)."""
    close = difflib.get_close_matches(wanted.lower()[:100], known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    more = ", ..." if len(known) > 10 else ""
    return f"known: {', '.join(known[:10])}{more}"


def read_manifest(content: bytes, *, file: str = MANIFEST_FILE) -> tuple[Manifest | None, list[Problem]]:
    """The manifest in ``content`` and every problem found in it: fields that are wrong are left empty.

    There is no manifest where ``content`` is no JSON object.
    """
    try:
        value = read_json(content)
    except ForeignJsonError as error:
        return None, [refuse(error.sentence("Not usable"), file=file, line=error.line)]
    if not isinstance(value, dict):
        return None, [refuse(f"{file} must hold one JSON object, like {{...}}.", file=file)]
    fields = _Fields(value, file)
    return fields.manifest(), fields.problems


def check_manifest(manifest: Manifest) -> tuple[Manifest, list[Problem]]:
    """The same for a manifest that came from a form or the command line instead of a file."""
    value = {key: getattr(manifest, key) for key in _KNOWN}
    value["links"] = list(manifest.links)
    fields = _Fields({key: item for key, item in value.items() if item not in ("", None)}, "")
    return fields.manifest(), fields.problems


def parse_usage(content: bytes) -> dict[str, float]:
    """What one answer cost: any of :data:`USAGE_KEYS` (tokens, US dollars, seconds).

    Raises ForeignJsonError with what to correct.
    """
    value = read_json(content)
    if not isinstance(value, dict):
        raise ForeignJsonError("usage must be one JSON object")
    return usage_from(value)


def usage_from(value: Mapping[str, JsonValue]) -> dict[str, float]:
    """``value`` as usage: known keys, numbers that are finite and not negative; null leaves a key out.

    Raises ForeignJsonError with what to correct.
    """
    usage: dict[str, float] = {}
    for key, number in value.items():
        if key not in USAGE_KEYS:
            raise ForeignJsonError(f"unknown key {key[:60]!r}; {nearest(key, USAGE_KEYS)}")
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ForeignJsonError(f"{key!r} must be a number")
        if not math.isfinite(number) or not 0 <= number <= _LARGEST_USAGE:
            raise ForeignJsonError(f"{key!r} must be between 0 and {_LARGEST_USAGE:g}")
        usage[key] = float(number)
    return usage


def hidden_character(text: str, *, multiline: bool = False) -> str:
    """The first character of ``text`` that a page could not show as itself, as ``U+202E``, or an empty text."""
    bad = next((c for c in text if _is_unshowable(c) and not (multiline and c in "\n\r\t")), "")
    return f"U+{ord(bad):04X}" if bad else ""


class _Fields:
    """The keys of one manifest object, with the problems met while reading them."""

    def __init__(self, value: Mapping[str, JsonValue], file: str) -> None:
        self.problems: list[Problem] = []
        self._value = value
        self._file = file

    def manifest(self) -> Manifest:
        """The manifest; a field that ``problems`` has something against is empty in it, or its default."""
        self._refuse_unknown_keys()
        return Manifest(
            suite=self._slug("suite"),
            suite_version=self._version(),
            system=self._text("system"),
            backbone=self._text("backbone"),
            scaffold=self._text("scaffold", default="none"),
            inputs=self._choice("inputs", INPUTS, default=""),
            organisation=self._text("organisation"),
            links=self._links(),
            notes=self._text("notes", multiline=True),
            kind=self._choice("kind", KINDS, default="ranked"),
        )

    def _refuse(self, message: str) -> None:
        self.problems.append(refuse(message, file=self._file))

    def _refuse_unknown_keys(self) -> None:
        for key in self._value:
            if key not in _KNOWN:
                self._refuse(f"Unknown key {key[:60]!r}; {nearest(key, _KNOWN)}")

    def _text(self, key: str, *, default: str = "", multiline: bool = False) -> str:
        value = self._value.get(key)
        if value is None:
            if key in _REQUIRED:
                self._refuse(f"{key!r} is missing; add it.")
            return default
        if not isinstance(value, str):
            self._refuse(f"{key!r} must be a text in quotes, not {json.dumps(value)[:60]}.")
            return default
        text = unicodedata.normalize("NFC", value).strip()
        wrong = _wrong_text(key, text, multiline=multiline)
        for message in wrong:
            self._refuse(message)
        return default if wrong else text or default

    def _slug(self, key: str) -> str:
        text = self._text(key)
        if text and not _SLUG.fullmatch(text):
            self._refuse(f"{key!r} is a name like 'lmr-mini' (small letters, digits, hyphens), not {text[:60]!r}.")
            return ""
        return text

    def _version(self) -> int | None:
        value = self._value.get("suite_version")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST_VERSION:
            self._refuse(f"'suite_version' must be a whole number from 1, not {json.dumps(value)[:60]}.")
            return None
        return value

    def _choice(self, key: str, choices: tuple[str, ...], *, default: str) -> str:
        value = self._value.get(key)
        if value is None:
            if key in _REQUIRED:
                self._refuse(f"{key!r} is missing; use one of {', '.join(choices)}.")
            return default
        if not isinstance(value, str) or value not in choices:
            shown = json.dumps(value)[:60]
            self._refuse(f"{key!r} must be one of {', '.join(choices)}, not {shown}.")
            return default
        return value

    def _links(self) -> tuple[str, ...]:
        value = self._value.get("links")
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > _MOST_LINKS:
            self._refuse(f"'links' must be a list of at most {_MOST_LINKS} addresses.")
            return ()
        links = []
        for number, link in enumerate(value, start=1):
            problem = _link_problem(link)
            if problem:
                self._refuse(f"'links', number {number}: {problem}")
            else:
                links.append(str(link).strip())
        return tuple(links)


def _wrong_text(key: str, text: str, *, multiline: bool) -> list[str]:
    wrong = []
    if not text and key in _REQUIRED:
        wrong.append(f"{key!r} is empty; fill it in.")
    if text and text == KIT_PLACEHOLDERS.get(key):
        wrong.append(f"{key!r} still holds the task kit's example text {text!r}; replace it with your own.")
    if len(text) > _LONGEST[key]:
        wrong.append(f"{key!r} has {len(text)} characters; at most {_LONGEST[key]} are allowed.")
    bad = hidden_character(text, multiline=multiline)
    if bad:
        wrong.append(f"{key!r} holds the control or direction character {bad}; remove it.")
    return wrong


def _link_problem(link: JsonValue) -> str:
    if not isinstance(link, str):
        return "an address must be a text in quotes."
    link = link.strip()
    if len(link) > _LONGEST_LINK:
        return f"the address is longer than {_LONGEST_LINK} characters."
    try:
        parts = urlsplit(link)
        host = parts.hostname
    except ValueError:
        return "the address cannot be read."
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        return "an address must begin with https:// or http:// and name a host, without user name."
    if any(c.isspace() or _is_unshowable(c) for c in link):
        return "the address holds a space or control character."
    return ""


def _is_unshowable(character: str) -> bool:
    """Control, format (direction overrides among them), private and unassigned characters."""
    return unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp")
