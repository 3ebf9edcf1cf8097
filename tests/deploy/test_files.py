"""The files with which operators install the site: Dockerfile, compose.yaml, systemd's units, Kubernetes' manifests."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from contextlib import closing
from dataclasses import fields
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from leaderboard.settings.environment import Environment
from tests.conftest import PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMPOSE: Final[dict[str, Any]] = yaml.safe_load((PROJECT_ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: Final[dict[str, dict[str, Any]]] = COMPOSE["services"]
ONE_SHOT: Final = ("folder", "setup", "backup")
SYSTEMD: Final = sorted((PROJECT_ROOT / "deploy/systemd").iterdir())
KUBERNETES: Final = sorted((PROJECT_ROOT / "deploy/kubernetes").glob("*.yaml"))
SETTINGS: Final = {field.name.upper() for field in fields(Environment)}
NOT_OURS: Final = ("POSTGRES_", "PYTHON", "DOCKER_")
"""Beginnings of the names of other programs' variables."""


def manifests() -> Iterator[dict[str, Any]]:
    for file in KUBERNETES:
        yield from yaml.safe_load_all(file.read_text(encoding="utf-8"))


def values_of(document: Any, key: str) -> Iterator[Any]:
    """Yield the value of ``key`` wherever it is in a document."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name == key:
                yield value
            yield from values_of(value, key)
    elif isinstance(document, list):
        for each in document:
            yield from values_of(each, key)


def variables() -> Iterator[tuple[str, str]]:
    """Yield each file that sets variables of the environment, and the names."""
    for name in chain.from_iterable(service.get("environment", {}) for service in SERVICES.values()):
        yield "compose.yaml", name
    for file in SYSTEMD:
        for line in re.findall(r"^Environment=(.*)", file.read_text(encoding="utf-8"), re.MULTILINE):
            yield from ((file.name, word.partition("=")[0]) for word in line.split())
    for document in manifests():
        for listed in values_of(document, "env"):
            yield from (("kubernetes", each["name"]) for each in listed)
        if document["kind"] == "Secret" and document["metadata"]["name"] != "queue":
            yield from (("kubernetes", name) for name in document["stringData"])
    for line in (PROJECT_ROOT / "deploy/kubernetes/settings.env").read_text(encoding="utf-8").splitlines():
        yield "settings.env", line.partition("=")[0]


def test_every_variable_is_a_setting() -> None:
    found = {(file, name.removesuffix("_FILE")) for file, name in variables() if not name.startswith(NOT_OURS)}
    assert {file for file, _ in found} >= {"compose.yaml", "kubernetes", "lmr-board-web.service", "settings.env"}
    assert {(file, name) for file, name in found if name not in SETTINGS} == set()


def test_one_service_alone_has_the_engines_socket() -> None:
    holders = [name for name, service in SERVICES.items() if "docker.sock" in str(service.get("volumes"))]
    assert holders == ["worker-tests"]
    assert "secret_key" not in SERVICES["worker-tests"]["secrets"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_confined_limited_and_checked(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == (["CHOWN"] if name == "folder" else [])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert service["restart"] == ("no" if name in ONE_SHOT else "unless-stopped")
    check = service["healthcheck"]
    assert check.get("disable") is True if name in ONE_SHOT else {"test", "start_period"} <= set(check)
    assert service.get("user") != "0:0" or name == "folder"


def test_no_file_has_a_password_and_every_image_is_an_argument() -> None:
    for name, value in chain.from_iterable(service.get("environment", {}).items() for service in SERVICES.values()):
        assert not re.search("PASSWORD|SECRET|KEY|URL", name) or name.endswith("_FILE"), (name, value)
    assert {secret["file"] for secret in COMPOSE["secrets"].values()} == {
        f"deploy/secrets/{name}" for name in COMPOSE["secrets"]
    }
    assert all(re.fullmatch(r"\$\{\w+:-[\w.:-]+\}", service["image"]) for service in SERVICES.values())
    for document in manifests():
        assert set(document.get("stringData", {}).values()) <= {""}


def copy_deploy(folder: Path) -> None:
    """Copy what ``prepare.sh`` reads and changes, as a checkout with a umask of 077 has it."""
    shutil.copytree(PROJECT_ROOT / "deploy/nginx", folder / "deploy/nginx")
    shutil.copy(PROJECT_ROOT / "deploy/prepare.sh", folder / "deploy")
    for path in (folder / "deploy").rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)


def test_the_proxy_can_read_its_settings_whatever_the_umask_was(tmp_path: Path) -> None:
    copy_deploy(tmp_path)
    (tmp_path / ".env").write_text("DOCKER_GID=7\n", encoding="ascii")
    subprocess.run([tmp_path / "deploy/prepare.sh"], check=True, stdout=subprocess.DEVNULL)
    nginx = tmp_path / "deploy/nginx"
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in (nginx, *nginx.rglob("*"))}
    assert modes == {(True, 0o755), (False, 0o644)}


def test_prepared_secrets_fit_each_other_and_none_is_changed(tmp_path: Path) -> None:
    copy_deploy(tmp_path)
    (tmp_path / ".env").write_text("DOCKER_GID=7\n", encoding="ascii")

    def prepare(*, code: int = 0) -> dict[str, str]:
        done = subprocess.run([tmp_path / "deploy/prepare.sh"], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        made = {file.name: file.read_text(encoding="ascii") for file in (tmp_path / "deploy/secrets").iterdir()}
        return made | ({"error": done.stderr} if code else {})

    made = prepare()
    assert set(made) == set(COMPOSE["secrets"])
    assert f":{made['postgres_password']}@postgres/" in made["database_url"]
    assert made["redis_acl"].startswith("user default off resetpass ")
    assert re.match(r"redis://lmr_board:[0-9a-f]{64}@redis:6379/0", made["redis_url"])
    folder = tmp_path / "deploy/secrets"
    assert (folder.stat().st_mode & 0o777, {file.stat().st_mode & 0o777 for file in folder.iterdir()}) == (
        0o700,
        {0o444},
    )
    assert prepare() == made
    assert (tmp_path / ".env").read_text(encoding="ascii") == "DOCKER_GID=7\n"
    (folder / "postgres_password").unlink()
    refused = (
        "Of deploy/secrets/postgres_password and database_url only database_url exists. "
        "Put the other one back from your copy.\n"
    )
    assert prepare(code=1)["error"] == refused


def test_the_group_of_the_socket_is_a_line_of_its_own(tmp_path: Path) -> None:
    copy_deploy(tmp_path)
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(tmp_path / "docker.sock"))
        variables = os.environ | {"DOCKER_SOCKET": str(tmp_path / "docker.sock")}
        for before in ("BASE_IMAGE=mine", "BASE_IMAGE=mine\n", ""):
            (tmp_path / ".env").write_text(before, encoding="ascii")
            subprocess.run([tmp_path / "deploy/prepare.sh"], env=variables, check=True, stdout=subprocess.DEVNULL)
            lines = (tmp_path / ".env").read_text(encoding="ascii").splitlines()
            assert lines == [*before.split(), f"DOCKER_GID={os.getgid()}"]


def test_the_image_is_built_on_pythons_own_and_runs_as_a_user() -> None:
    text = (PROJECT_ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert text.count("\nARG BASE_IMAGE=python:3.11-slim-bookworm\n") == 1
    assert "--require-hashes" in text
    assert re.findall(r"^USER (.*)", text, re.MULTILINE) == ["${UID}:${GID}"]
    kept = re.findall(r"^!(.*)", (PROJECT_ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in kept if not (PROJECT_ROOT / name).exists()] == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for file in SYSTEMD:
        # The program must exist where it is checked.
        text = file.read_text(encoding="utf-8").replace("/opt/lmr-board", str(PROJECT_ROOT))
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    units = sorted(str(file) for file in tmp_path.iterdir())
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if "lmr-board" in line]) == (0, [])


def test_only_workers_that_make_boxes_may_make_namespaces() -> None:
    closed = {file.name for file in SYSTEMD if "RestrictNamespaces=yes" in file.read_text(encoding="utf-8")}
    assert closed == {"lmr-board-web.service", "lmr-board-backup.service"}
    services = [file for file in SYSTEMD if file.suffix == ".service"]
    assert all("\nUser=lmr-board\n" in file.read_text(encoding="utf-8") for file in services)


def test_the_engine_of_a_pod_alone_is_privileged_and_confined_by_gvisor() -> None:
    kinds = {(each["kind"], each["metadata"]["name"]) for each in manifests() if "metadata" in each}
    assert {("Job", "setup"), ("CronJob", "backup"), ("ScaledObject", "worker-tests"), ("Ingress", "web")} <= kinds
    for document in manifests():
        for pod in values_of(document, "spec"):
            containers = [*pod.get("initContainers", []), *pod.get("containers", [])]
            privileged = [each["name"] for each in containers if each["securityContext"].get("privileged")]
            assert privileged == (["engine"] if pod.get("runtimeClassName") == "gvisor" else [])
            closed = [each for each in containers if each["name"] not in privileged]
            assert all(each["securityContext"]["capabilities"] == {"drop": ["ALL"]} for each in closed)
            assert all({"requests", "limits"} == set(each["resources"]) for each in containers)
