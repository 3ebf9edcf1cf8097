"""Compile the method notes of a suite: every ``<task>/paper.typ`` becomes the ``paper.pdf`` beside it.

``python -m benchmark_tasks.suites.build_notes [SUITE_FOLDER] [--check]``. Each PDF contains a digest of the sources
it was made from, so ``--check`` (and a test) can find notes that are older than their source. No Django here.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

import pymupdf
import typst

LMR_MINI = Path(__file__).resolve().parent / "lmr-mini"
TEMPLATE = "note.typ"
# PyMuPDF comes without types.
_open_pdf: Any = pymupdf.open
_STAMP = re.compile(r"typst-sources-sha256:([0-9a-f]{64})")


class NoteError(Exception):
    """Raised if a note does not compile, does not fit one page, or is missing. The message names the file."""


def sources_digest(source: Path) -> str:
    """Return the SHA-256 (hexadecimal) of a note's source and of the suite's template, in this order."""
    digest = hashlib.sha256()
    for part in (source, source.parent.parent / TEMPLATE):
        content = part.read_bytes()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def stamped_digest(pdf: Path) -> str:
    """Return the digest that :func:`build_note` wrote into ``pdf``; empty if there is none."""
    with _open_pdf(pdf) as document:
        found = _STAMP.search((document.metadata or {}).get("keywords") or "")
    return found.group(1) if found else ""


def page_texts(pdf: Path) -> list[str]:
    """Return the text of every page of ``pdf``, in order."""
    with _open_pdf(pdf) as document:
        return [page.get_text() for page in document]


def build_note(source: Path) -> Path:
    """Compile one ``paper.typ`` to ``paper.pdf``, byte for byte the same on every machine with the same Typst.

    Raises:
        NoteError: when Typst reports an error or the note is not exactly one page.
    """
    try:
        content = typst.compile(
            source,
            root=source.parent.parent,
            ignore_system_fonts=True,
            format="pdf",
            sys_inputs={"sources": sources_digest(source)},
            timestamp=0,
        )
    except typst.TypstError as error:
        raise NoteError(f"{source}: Typst reports: {error}") from error
    with _open_pdf(stream=content, filetype="pdf") as document:
        pages = document.page_count
    if pages != 1:
        raise NoteError(f"{source}: the note has {pages} pages, shorten it to one")
    pdf = source.with_suffix(".pdf")
    pdf.write_bytes(content)
    return pdf


def stale_notes(suite: Path) -> list[Path]:
    """List the notes of ``suite`` whose ``paper.pdf`` is missing or was made from other sources."""
    return [
        source
        for source in sorted(suite.glob("*/paper.typ"))
        if not source.with_suffix(".pdf").is_file()
        or stamped_digest(source.with_suffix(".pdf")) != sources_digest(source)
    ]


def main(arguments: list[str] | None = None) -> int:
    """Build (or, with ``--check``, only check) the notes of one suite folder. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Compile the method notes of a suite with Typst.")
    parser.add_argument("suite", nargs="?", type=Path, default=LMR_MINI, help="suite folder (default: lmr-mini)")
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a note is out of date")
    options = parser.parse_args(arguments)
    stale = stale_notes(options.suite)
    if options.check:
        for source in stale:
            sys.stderr.write(f"{source}: paper.pdf is out of date, run this command without --check\n")
        return int(bool(stale))
    failed = False
    for source in stale:
        try:
            sys.stdout.write(f"wrote {build_note(source)}\n")
        except NoteError as error:
            failed = True
            sys.stderr.write(f"{error}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
