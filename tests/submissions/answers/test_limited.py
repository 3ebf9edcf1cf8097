from __future__ import annotations

import io
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from submissions.answers.bundle import read_bundle
from submissions.answers.intake import ArchiveLimits
from submissions.answers.limited import ReaderLimits, read_bundle_limited
from submissions.answers.types import BundleError, Manifest
from tests.submissions.answers.archive_makers import GOOD_FILES, gzip_of_zeros, make_zip, tar_header

FILES = {
    **GOOD_FILES,
    "answers/dpo/1/usage.json": b'{"seconds": 1.5}',
    "answers/dpo/1/run.log": bytes(range(256)),
    "answers/cd/1/trial-2/answer.diff": b"--- \xff",
    "answers/cd/2/answer.diff": b"",
    "answers/cd/2/run.log": b"",
}


@pytest.fixture
def upload(tmp_path: Path) -> Path:
    path = tmp_path / "upload"
    path.write_bytes(make_zip(FILES))
    return path


def refusal(path: Path, **options: ReaderLimits) -> list[str]:
    with pytest.raises(BundleError) as caught:
        read_bundle_limited(path, **options)  # type: ignore[arg-type]
    return [problem.message for problem in caught.value.problems]


def test_the_child_returns_what_the_reader_reads(upload: Path) -> None:
    assert read_bundle_limited(upload) == read_bundle(io.BytesIO(make_zip(FILES)))


def test_problems_come_back_whole(upload: Path) -> None:
    exes = {f"answers/dpo/{number}/x.exe": b"" for number in range(120)}
    upload.write_bytes(make_zip({**FILES, **exes, "answers/dpo/1/x.md": b""}))
    here, there = read_bundle(io.BytesIO(upload.read_bytes())), read_bundle_limited(upload)
    assert (len(there.problems), there.left_out, len(there.answers)) == (100, 21, 3)
    assert there == here


def test_what_cannot_be_read_raises_as_it_does_here(upload: Path) -> None:
    upload.write_bytes(make_zip({"answers/dpo/1/x.exe": b""})[:-5])
    with pytest.raises(BundleError) as here:
        read_bundle(io.BytesIO(upload.read_bytes()))
    with pytest.raises(BundleError) as there:
        read_bundle_limited(upload)
    assert there.value.problems == here.value.problems


def test_defaults_and_limits_reach_the_child(upload: Path) -> None:
    defaults = Manifest("lmr-mini", 2, "", "", "none", "full", "", ("https://example.org",), "")
    upload.write_text('{"instance_id": "dpo/1", "function": "x", "model_name_or_path": "m"}\n')
    bundle = read_bundle_limited(upload, defaults=defaults)
    assert bundle.manifest == replace(defaults, system="m", backbone="m")
    with pytest.raises(BundleError, match="larger than 10 bytes"):
        read_bundle_limited(upload, defaults=defaults, limits=ArchiveLimits(upload=10))


def test_absurdly_long_fields_are_refused_before_a_child_starts(upload: Path) -> None:
    defaults = Manifest("lmr-mini", 2, "", "", "none", "full", "", (), "x" * 70_000)
    with pytest.raises(BundleError, match="too long; shorten the notes"):
        read_bundle_limited(upload, defaults=defaults)


@pytest.mark.parametrize(
    "reader", [ReaderLimits(memory_bytes=60 * 1024 * 1024), ReaderLimits(memory_bytes=1024)], ids=["read", "start"]
)
def test_too_much_memory_is_a_clear_refusal(upload: Path, reader: ReaderLimits) -> None:
    upload.write_bytes(make_zip({f"answers/dpo/{n}/a.log": os.urandom(6 * 1024 * 1024) for n in (1, 2, 3)}))
    assert refusal(upload, reader=reader) == [
        "Reading the bundle used too much memory or time, or failed; send a smaller or plainer archive."
    ]


@pytest.mark.parametrize(
    ("trajectory", "count"),
    [(bytes(range(64, 128)) * 1024 * 112, 7), (os.urandom(6 * 1024 * 1024), 3)],
    ids=["49 MB that pack well", "18 MB that do not"],
)
def test_the_largest_bundles_that_are_allowed_fit_in_the_child(upload: Path, trajectory: bytes, count: int) -> None:
    numbers = range(1, count + 1)
    files = {f"answers/dpo/{n}/run.log": trajectory for n in numbers}
    answers = {f"answers/dpo/{n}/answer.py": os.urandom(100_000) for n in numbers}
    upload.write_bytes(make_zip({"submission.json": GOOD_FILES["submission.json"], **files, **answers}))
    assert [answer.trajectory for answer in read_bundle_limited(upload).answers] == [trajectory] * count


def test_too_much_time_is_a_clear_refusal_and_ends_the_child(upload: Path) -> None:
    begun = time.monotonic()
    assert refusal(upload, reader=ReaderLimits(wall_seconds=0.001)) == [
        "Reading the bundle took too long; send a smaller or plainer archive."
    ]
    assert time.monotonic() - begun < 2


def test_a_bomb_costs_a_refusal_only(upload: Path) -> None:
    upload.write_bytes(gzip_of_zeros(64 * 1024 * 1024, head=tar_header(b"answers/dpo/1/a.log", 64 * 1024 * 1024)))
    begun = time.monotonic()
    assert any("unpacks to more than" in message for message in refusal(upload))
    assert time.monotonic() - begun < 5
