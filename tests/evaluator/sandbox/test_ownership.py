"""Names of boxes, and whether their owner is alive."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from evaluator.sandbox.ownership import BoxName, Owner
from evaluator.sandbox.types import BoxSpec, Limits

SPEC = BoxSpec(label="run-1", argv=("python",), mounts=(), limits=Limits(wall_seconds=5.0))


def test_a_name_reads_back() -> None:
    name = BoxName.fresh(SPEC)
    assert BoxName.parse(str(name)) == name
    assert name.label == "run-1"
    assert 64 <= name.deadline - time.time() + 1 <= 66


@pytest.mark.parametrize(
    "text", ["", "cgroup.procs", "a.b.c.d", "run-1.1-2.3.ff", "run-1.1-2-3.soon.ff", "None.None.None.x"]
)
def test_other_names_are_not_ours(text: str) -> None:
    assert BoxName.parse(text) is None


def test_a_living_owner_keeps_its_box_until_the_deadline() -> None:
    name = BoxName.fresh(SPEC)
    assert not name.is_left_over(keep=lambda _: False)
    late = BoxName(name.label, name.owner, int(time.time()) - 1, name.nonce)
    assert late.is_left_over(keep=lambda _: False)
    assert not late.is_left_over(keep=lambda label: label == "run-1")


def test_a_dead_owners_box_is_left_over_unless_claimed() -> None:
    process = subprocess.Popen(["sleep", "60"])
    here = Owner.current()
    started = int(_stat_field(process.pid, 22))
    owner = Owner(here.namespace, process.pid, started)
    name = BoxName("run-1", owner, int(time.time()) + 60, "ff")
    assert not owner.is_dead()
    process.kill()
    process.wait()
    assert owner.is_dead()
    assert name.is_left_over(keep=lambda _: False)
    assert not name.is_left_over(keep=lambda _: True)


def _stat_field(pid: int, number: int) -> str:
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[number - 3]


def test_a_reused_number_is_another_process_and_one_of_another_namespace_counts_as_alive() -> None:
    here = Owner.current()
    assert Owner(here.namespace, os.getpid(), here.started + 1).is_dead()
    assert not Owner(here.namespace + 1, 999_999_999, 1).is_dead()
