"""The rules of an order, folders on the host, and a box's input and output, tested without any box."""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox.box import check_spec
from evaluator.sandbox.docker_client import Demultiplexer
from evaluator.sandbox.environment_list import check_environment_name
from evaluator.sandbox.interface import BoxSpec, Feed, Limits, Mount, SandboxError
from evaluator.sandbox.streams import Capture, Pump, Ticker
from evaluator.sandbox.trees import link_tree, module_names, reachable_state_dir, readable_mounts, tree_digest


def spec(
    label: str = "run-1",
    argv: tuple[str, ...] = ("python", "x.py"),
    targets: tuple[str, ...] = ("/box/task",),
    variables: tuple[tuple[str, str], ...] = (),
) -> BoxSpec:
    mounts = tuple(Mount(Path("/usr"), target) for target in targets)
    return BoxSpec(label=label, argv=argv, mounts=mounts, variables=variables)


def test_a_plain_order_is_accepted() -> None:
    check_spec(spec())
    check_spec(spec(label="a", targets=("/box/a", "/box/b/c.py")))
    check_spec(spec(variables=(("HF_HUB_OFFLINE", "1"), ("_X2", ""), ("LDAP", "x"), ("HOME", "/tmp/a b"))))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        *(({"label": label}, "box label") for label in ("", "a-", "A", "a/b", "a" * 64)),
        *(({"argv": argv}, "argv must begin with 'python'") for argv in ((), ("/usr/bin/python",))),
        ({"argv": ("python", "a\0b")}, "an argument holds a NUL byte"),
        *(
            ({"targets": (target,)}, "not a plain path below /box/")
            for target in ("/box", "box/a", "/usr/a", "/box/../usr", "/box//a", "/box/a/")
        ),
        ({"targets": ("/box/a", "/box/a")}, "same target"),
        *(({"variables": ((name, "x"),)}, "has only capital letters") for name in ("", "1A", "a", "A=B", "Ä", "A\n")),
        *(
            ({"variables": ((name, "x"),)}, f"variable {name} is the sandbox's own")
            for name in ("PATH", "LD_PRELOAD", "PYTHONPATH")
        ),
        ({"variables": (("A", "b\0c"),)}, "variable A holds a NUL byte"),
        ({"variables": (("A", "1"), ("A", "2"))}, "a variable is set twice"),
    ],
)
def test_invalid_orders_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(SandboxError, match=message):
        check_spec(spec(**changed))


@pytest.mark.parametrize("name", ["", "../x", "Numpy", "a b", "-a"])
def test_environment_names_are_plain(name: str) -> None:
    with pytest.raises(SandboxError, match="environment"):
        check_environment_name(name)


@pytest.fixture
def open_folder(state_dir: Path, request: pytest.FixtureRequest) -> Path:
    """A folder that all users may enter."""
    folder = state_dir / f"trees-{request.node.name}"
    folder.mkdir()
    folder.chmod(0o755)
    return folder


def readable(source: Path, copies: Path) -> Path:
    spec = BoxSpec(label="test", argv=("python",), mounts=(Mount(source, "/box/a"),))
    (mount,) = readable_mounts(spec, copies).mounts
    assert mount.target == "/box/a"
    return mount.source


@pytest.mark.parametrize("hidden", ["file", "folder", "parent"])
def test_files_that_not_all_users_can_read_are_copied(open_folder: Path, hidden: str) -> None:
    task = open_folder / "home" / "task"
    (task / "inner").mkdir(parents=True)
    (task / "inner" / "a.py").write_text("a")
    (task / "link").symlink_to("inner/a.py")
    {"file": task / "inner" / "a.py", "folder": task / "inner", "parent": task.parent}[hidden].chmod(0o700)
    copy = readable(task, open_folder / "copies")
    assert copy == open_folder / "copies" / "0"
    assert (copy / "inner" / "a.py").read_text() == "a"
    assert oct((copy / "inner" / "a.py").stat().st_mode & 0o777) == "0o644"
    assert oct((copy / "inner").stat().st_mode & 0o777) == "0o755"
    assert (copy / "link").readlink() == Path("inner/a.py")


def test_special_files_are_refused(open_folder: Path) -> None:
    os.mkfifo(open_folder / "pipe")
    with pytest.raises(SandboxError, match=r"pipe is a 'p' file; only plain files may be mounted"):
        readable(open_folder, open_folder / "copies")


def test_a_state_folder_that_others_cannot_reach_is_replaced_by_a_shared_one(open_folder: Path) -> None:
    assert reachable_state_dir(open_folder / "var") == open_folder / "var"
    (open_folder / "home").mkdir(mode=0o700)
    chosen = reachable_state_dir(open_folder / "home" / "var", shared=open_folder / "shared")
    assert chosen == open_folder / "shared"
    assert oct(chosen.stat().st_mode & 0o777) == "0o711"
    if os.geteuid() == 0:
        os.chown(chosen, 12345, 12345)
        with pytest.raises(SandboxError, match="belongs to another user"):
            reachable_state_dir(open_folder / "home" / "var", shared=open_folder / "shared")


def test_a_tree_is_linked_where_it_can_be(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "folder").mkdir(parents=True, mode=0o700)
    (source / "folder" / "open").touch(mode=0o644)
    (source / "folder" / "open").chmod(0o644)
    (source / "folder" / "compiled.pyc").touch()
    (source / "folder" / "private").touch(mode=0o600)
    (source / "link").symlink_to("/etc/passwd")
    (source / "su").touch()
    (source / "su").chmod(0o4755)
    link_tree(source, target, bytecode=False)
    assert sorted(path.name for path in (target / "folder").iterdir()) == ["open", "private"]
    assert (target / "folder" / "open").stat().st_ino == (source / "folder" / "open").stat().st_ino
    modes = {name: oct((target / name).stat().st_mode & 0o7777) for name in ("folder", "folder/private", "su")}
    assert modes == {"folder": "0o755", "folder/private": "0o444", "su": "0o555"}
    assert (target / "link").readlink() == Path("/etc/passwd")


def test_the_digest_covers_names_and_contents_but_not_bytecode(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    first = tree_digest(tmp_path)
    (tmp_path / "a.pyc").write_text("x")
    assert tree_digest(tmp_path) == first
    (tmp_path / "a.py").write_text("2")
    second = tree_digest(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, tree_digest(tmp_path)}) == 3


def test_files_that_all_users_can_read_are_mounted_themselves(open_folder: Path) -> None:
    task = open_folder / "task"
    task.mkdir()
    (task / "a.py").write_text("a")
    task.chmod(0o755)
    (task / "a.py").chmod(0o644)
    assert readable(task, open_folder / "copies") == task
    assert not (open_folder / "copies").exists()


def test_output_is_kept_to_the_last_byte_of_its_limit_and_of_a_log_the_beginning() -> None:
    capture = Capture(Limits(output_bytes=4, log_bytes=4))
    capture.add_stdout(b"ab")
    capture.add_stdout(b"cd")
    assert (bytes(capture.stdout), capture.output_exceeded) == (b"abcd", False)
    capture.add_stdout(b"e")
    capture.add_stderr(b"abcdef")
    capture.add_stderr(b"g")
    assert (bytes(capture.stdout), capture.output_exceeded) == (b"abcd", True)
    assert (bytes(capture.stderr), capture.stderr_truncated) == (b"abcd", True)


def test_many_threads_send_and_nothing_is_lost() -> None:
    feed = Feed()
    with ThreadPoolExecutor(8) as pool:
        sending = [pool.submit(feed.send, b"x") for _ in range(4000)]
        taken = 0
        while not all(sent.done() for sent in sending):
            taken += len(feed.take()[0])
    assert taken + len(feed.take()[0]) == 4000
    feed.close()


def is_readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


def test_a_feed_returns_data_in_order_and_its_descriptor_shows_when_data_waits() -> None:
    feed = Feed()
    watched = feed.watch()
    assert not is_readable(watched)
    for piece in (b"a", b"", b"bc"):
        feed.send(piece)
    assert is_readable(watched)
    assert feed.take() == (b"abc", False)
    assert (feed.take(), is_readable(watched)) == ((b"", False), False)
    feed.send(b"last")
    feed.end()
    feed.end()
    feed.send(b"too late")
    assert is_readable(watched)
    assert feed.take() == (b"last", True)
    os.close(watched)
    feed.close()


def test_a_closed_feed_wakes_its_readers_and_leaves_no_descriptor() -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    feed = Feed()
    watched = feed.watch()
    feed.close()
    feed.close()
    feed.send(b"too late")
    late = feed.watch()
    assert (is_readable(watched), is_readable(late), feed.take()) == (True, True, (b"", True))
    os.close(watched)
    os.close(late)
    assert descriptors() == before


@contextmanager
def pump(feed: Feed, stdin: bytes) -> Iterator[tuple[Pump, int, int]]:
    """A pump whose box ends when the second pipe has no writer any more; with the box's ends of both pipes."""
    (box_reads, writer), (reader, box_writes) = os.pipe(), os.pipe()
    for descriptor in (reader, writer):
        os.set_blocking(descriptor, False)
    capture = Capture(Limits())
    made = Pump(
        readers={reader: capture.add_stdout}, writer=writer, close_writer=partial(os.close, writer), ended=reader,
        stdin=stdin, capture=capture, feed=feed,
    )  # fmt: skip
    try:
        yield made, box_reads, box_writes
    finally:
        made.close()
        os.close(reader)


@pytest.mark.parametrize("reads", [False, True], ids=["closes its input", "ends"])
def test_an_abandoned_feed_keeps_nothing(reads: bool) -> None:
    feed = Feed()
    feed.send(b"unread too")
    with pump(feed, b"unread") as (made, box_reads, box_writes):
        if not reads:
            os.close(box_reads)
        os.close(box_writes)
        ticker = Ticker(probe=lambda: None, cancelled=lambda: False, deadline=time.monotonic() + 10)
        assert made.run(ticker) is None
    if reads:
        os.close(box_reads)
    feed.send(b"more")
    assert feed.take() == (b"", True)
    feed.close()


FRAMES = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=50)), max_size=20)


@given(frames=FRAMES, size=st.integers(1, 40))
def test_the_engines_streams_are_complete_and_separate(frames: list[tuple[int, bytes]], size: int) -> None:
    wire = b"".join(struct.pack(">BxxxI", stream, len(payload)) + payload for stream, payload in frames)
    capture = Capture(Limits())
    demultiplexer = Demultiplexer(capture)
    for start in range(0, len(wire), size):
        demultiplexer.feed(wire[start : start + size])
    assert bytes(capture.stdout) == b"".join(payload for stream, payload in frames if stream == 1)
    assert bytes(capture.stderr) == b"".join(payload for stream, payload in frames if stream == 2)


@given(data=st.binary(max_size=200))
def test_foreign_bytes_of_an_engine_are_data_or_an_infrastructure_error(data: bytes) -> None:
    capture = Capture(Limits(output_bytes=100, log_bytes=100))
    with suppress(SandboxError):
        Demultiplexer(capture).feed(data)
    assert len(capture.stdout) <= 100


def test_modules_in_folders_are_found(tmp_path: Path) -> None:
    """Every name that an import could find if its folder were searched; a package's modules count as the package."""
    for name in ("one.py", "two.cpython-311-x86_64-linux-gnu.so", "three.pyc", "notes.txt", "__init__.py"):
        (tmp_path / name).touch()
    for name in ("package/__init__.py", "package/inner.py", "package/deep/four.py", "plain/five.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "single.py").touch()
    assert module_names((tmp_path / "package", tmp_path / "single.py")) == {
        *("__init__", "deep", "four", "inner", "single"),
    }
    assert module_names((tmp_path,)) == {
        *("__init__", "one", "two", "three", "single", "package", "plain", "five", "four"),
    }
