"""What a form or a command line says about answers without ``submission.json`` (JSONL predictions, output trees)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from submissions.answers.types import Manifest
from submissions.enums import Inputs, Kind

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping


def add_manifest_arguments(parser: ArgumentParser) -> None:
    """The options of ``validate`` and ``submit`` that stand in for ``submission.json``."""
    group = parser.add_argument_group("for JSONL predictions and output trees, which carry no submission.json")
    group.add_argument("--suite", default="", help="the suite's slug")
    group.add_argument("--system", default="", help="the system's name; else the predictions' model_name_or_path")
    group.add_argument("--backbone", default="", help="the backbone model; else the predictions' model_name_or_path")
    group.add_argument("--scaffold", default="none")
    group.add_argument("--inputs", default=Inputs.FULL.value, choices=Inputs.values)
    group.add_argument("--organisation", default="")
    group.add_argument("--links", action="append", default=[], metavar="URL", help="may be given several times")
    group.add_argument("--notes", default="")


def described_by(options: Mapping[str, Any]) -> Manifest | None:
    """The manifest that these options (or form fields) describe; ``None`` when no suite is named."""
    if not options.get("suite"):
        return None
    links = options.get("links") or ()
    return Manifest(
        suite=options["suite"],
        suite_version=None,
        system=options.get("system") or "",
        backbone=options.get("backbone") or "",
        scaffold=options.get("scaffold") or "none",
        inputs=options.get("inputs") or Inputs.FULL.value,
        organisation=options.get("organisation") or "",
        links=tuple(links),
        notes=options.get("notes") or "",
        kind=options.get("kind") or Kind.RANKED.value,
    )
