"""Files that were derived from others: each host keeps its own, and a bucket shares them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmark_tasks.domain.derived import derived, derived_here
from tests.bucket import made_bucket

if TYPE_CHECKING:
    from pytest_django import Settings


def never(_: Path) -> None:
    pytest.fail("it was made again")


def hello(place: Path) -> None:
    place.write_text("hello", encoding="utf-8")


def test_a_file_is_made_once(data_dir: Path) -> None:
    assert derived_here("kits", "a.zip") is None
    assert derived("kits", "a.zip", hello) == data_dir / "kits" / "a.zip"
    assert derived("kits", "a.zip", never).read_text(encoding="utf-8") == "hello"
    assert derived_here("kits", "a.zip") == data_dir / "kits" / "a.zip"


def test_a_failed_making_leaves_nothing(data_dir: Path) -> None:
    def fails(place: Path) -> None:
        hello(place)
        raise ValueError("half-way")

    with pytest.raises(ValueError, match="half-way"):
        derived("kits", "a.zip", fails)
    assert list((data_dir / "kits").iterdir()) == []


def test_another_host_fetches_what_one_made(storage_url: str, settings: Settings, tmp_path: Path) -> None:
    derived("kits", "a.zip", hello)
    settings.DATA_DIR = tmp_path / "another"
    assert derived_here("kits", "a.zip") is None
    assert derived("kits", "a.zip", never) == tmp_path / "another" / "kits" / "a.zip"
    assert (tmp_path / "another" / "kits" / "a.zip").read_text(encoding="utf-8") == "hello"


@pytest.mark.parametrize("url", ["s3+http://k:s@127.0.0.1:1/b", None])
def test_a_bucket_that_fails_only_costs_time(
    url: str | None, s3_place: str, storage_url: str, settings: Any, tmp_path: Path
) -> None:
    absent = made_bucket(s3_place).rsplit("/", 1)[0] + "/absent"
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, storage_url=url or absent)
    assert derived_here("kits", "a.zip") is None
    assert derived("kits", "a.zip", hello).read_text(encoding="utf-8") == "hello"
    assert derived("kits", "a.zip", never).read_text(encoding="utf-8") == "hello"
