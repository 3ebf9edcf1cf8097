"""What the options of ``validate`` and ``submit`` say about a bundle without ``submission.json``."""

from __future__ import annotations

from argparse import ArgumentParser

from submissions.answers.types import Manifest
from submissions.domain.described import add_manifest_arguments, described_by


def described(*arguments: str) -> Manifest | None:
    parser = ArgumentParser()
    add_manifest_arguments(parser)
    return described_by(vars(parser.parse_args(arguments)))


def test_every_field_has_an_option() -> None:
    manifest = described(
        *("--suite", "small", "--system", "S", "--backbone", "b", "--scaffold", "agent", "--inputs", "paper_only"),
        *("--organisation", "O", "--links", "https://a.example", "--links", "https://b.example", "--notes", "none"),
    )
    assert manifest == Manifest(
        suite="small",
        suite_version=None,
        system="S",
        backbone="b",
        scaffold="agent",
        inputs="paper_only",
        organisation="O",
        links=("https://a.example", "https://b.example"),
        notes="none",
        kind="ranked",
    )


def test_links_do_not_pile_up_between_calls() -> None:
    described("--suite", "small", "--links", "https://a.example")
    manifest = described("--suite", "small")
    assert manifest is not None
    assert (manifest.links, manifest.notes, manifest.inputs) == ((), "", "full")


def test_without_a_suite_nothing_is_described() -> None:
    assert described("--system", "S") is None
