"""Define and read every environment variable of LMR-Board, with its type and default.

``docs/configuration.md`` documents each one; a test compares the two. A ``.env`` file in the project's root is read if
present (``ENV_FILE`` names another file) and never overrides the real environment. ``NAME_FILE`` names a file that
contains the value of ``NAME``.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import ipaddress
import os
import re
import secrets
import socket
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from urllib.parse import urlsplit
from zoneinfo import available_timezones

import dj_database_url
import dotenv
from environs import EnvValidationError, FileAwareEnv, ValidationError, validate

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT_ROOT = Path(__file__).resolve().parents[2]
# Linux allows 107 bytes for a Unix socket's path; Redis also creates a longer temporary name beside it.
LONGEST_SOCKET_PATH = 100
SHORTEST_ENDPOINT_KEY = 32


class ConfigurationError(Exception):
    """At least one environment variable has a wrong value; the message lists all of them."""


def _stripped(value: str | None) -> str:
    """Strip whitespace: values read from files (``X_FILE``) end in a newline."""
    return (value or "").strip()


def _from_root(value: str) -> Path:
    """Return a path; relative paths start at the project's root."""
    return PROJECT_ROOT / value


def _file(value: str) -> Path | None:
    return _from_root(value) if value else None


def _all_origins(origins: list[str]) -> bool:
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path:
            msg = f"{origin!r} is not an origin such as https://board.example.org"
            raise ValidationError(msg)
    return True


def _all_long(secrets_: list[str]) -> bool:
    if any(len(secret.strip()) < SHORTEST_ENDPOINT_KEY for secret in secrets_):
        msg = f"each key needs at least {SHORTEST_ENDPOINT_KEY} characters; `openssl rand -hex 32` generates one"
        raise ValidationError(msg)
    return True


def _all_networks(networks: list[str]) -> bool:
    for network in networks:
        try:
            ipaddress.ip_network(network.strip())
        except ValueError as error:
            msg = f"{network!r} is not a network such as 10.1.2.0/24 or 127.0.0.1/32"
            raise ValidationError(msg) from error
    return True


def _origin(value: str) -> bool:
    return not value.strip() or _all_origins([value.strip()])


def _contact_address(value: str) -> bool:
    parts = urlsplit(value.strip())
    if (
        value.strip()
        and not (parts.scheme == "https" and parts.netloc)
        and not (parts.scheme == "mailto" and parts.path)
    ):
        msg = "not an address such as mailto:security@board.example.org or https://board.example.org/report"
        raise ValidationError(msg)
    return True


def _database_url(value: str) -> bool:
    if not value.strip():
        return True
    try:
        engine = dj_database_url.parse(value.strip())["ENGINE"]
    except (ValueError, KeyError) as error:
        msg = "not a database address such as postgres://user:password@host/name"
        raise ValidationError(msg) from error
    if not engine.endswith(("sqlite3", "postgresql")):
        msg = "only sqlite:/// and postgres:// are supported"
        raise ValidationError(msg)
    return True


def _address(what: str, example: str, *schemes: str) -> Callable[[str], bool]:
    """Return a validator that requires one of ``schemes`` unless the value is empty."""

    def check(value: str) -> bool:
        if value.strip() and urlsplit(value.strip()).scheme not in schemes:
            msg = f"not {what} such as {example}"
            raise ValidationError(msg)
        return True

    return check


_HOST_NAME = re.compile(r"((?!-)[a-z\d-]{1,63}(?<!-)\.)*(?!-)[a-z\d-]{1,63}(?<!-)")
"""The host names that the S3 library accepts."""


def valid_storage_url(value: str) -> bool:
    """Return true for an empty value or a bucket's address. Raises ValidationError."""
    if not value.strip():
        return True
    try:
        parts = urlsplit(value.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    known = parts.scheme in {"s3", "s3+http"} and parts.path.strip("/") and port != 0
    if not known or not (_HOST_NAME.fullmatch(host) or ":" in host):
        msg = "not a bucket's address such as s3://key:secret@s3.example.org/bucket"
        raise ValidationError(msg)
    return True


def _backups(value: str) -> bool:
    return "://" not in value or valid_storage_url(value)


def _folder_or_bucket(value: str) -> Path | str:
    return value.strip() if "://" in value or not value.strip() else _from_root(value.strip())


def _dsn(value: str) -> bool:
    parts = urlsplit(value.strip())
    if value.strip() and not (
        parts.scheme in {"http", "https"} and parts.hostname and parts.username and parts.path.strip("/").isdigit()
    ):
        msg = "not the DSN of a project in Sentry, such as https://key@sentry.example.org/1"
        raise ValidationError(msg)
    return True


_source_code = _address("a web address", "https://code.example.org/lmr-board", "http", "https")
_redis_url = _address("a Redis address", "redis://host:6379/0", "redis", "rediss", "unix")
_email_url = _address("an e-mail server", "smtp+tls://user:password@host:587", "smtp", "smtps", "smtp+tls", "console")


def _time_zone(value: str) -> bool:
    if value not in available_timezones():
        msg = f"{value!r} is not a time zone such as Europe/Berlin"
        raise ValidationError(msg)
    return True


POOLS: Final = ("tests", "model_calls", "builds", "site")
"""The kinds of work of an instance, each with a queue of its own (``evaluator.queue.pushing``)."""


def _all_pools(pools: list[str]) -> bool:
    unknown = [pool for pool in pools if pool.strip() not in POOLS]
    if unknown or not pools:
        msg = f"{unknown[0] if unknown else 'nothing'!r} is no pool; there are {', '.join(POOLS)}"
        raise ValidationError(msg)
    return True


ROLES: Final = ("maintainers", "annotators")
"""The roles that can be required to have a second factor (``submissions.domain.second_factor``)."""


def _all_roles(roles: list[str]) -> bool:
    for role in roles:
        if role.strip() not in ROLES:
            msg = f"{role!r} is no role; there are {' and '.join(ROLES)}"
            raise ValidationError(msg)
    return True


def _each_stripped(values: list[str]) -> list[str]:
    return [value.strip() for value in values or []]


def _this_host(name: str) -> str:
    return name.strip() or socket.gethostname()


_LISTEN = re.compile(r"(?P<host>[\d.]+|\[[\da-f:]+\]):(?P<port>\d{1,5})", re.IGNORECASE)


def _listen_address(value: str) -> tuple[str, int] | None:
    """Return IP address and port; None for an empty value. Raises ValueError."""
    if not value.strip():
        return None
    found = _LISTEN.fullmatch(value.strip())
    if not found or not 0 < int(found["port"]) < 65536:
        raise ValueError(value)
    return str(ipaddress.ip_address(found["host"].strip("[]"))), int(found["port"])


def _listens(value: str) -> bool:
    try:
        _listen_address(value)
    except ValueError as error:
        msg = "not an IP address and a port such as 127.0.0.1:9101 or [::1]:9101"
        raise ValidationError(msg) from error
    return True


_range, _one_of = validate.Range, validate.OneOf


def _variable(kind: str, default: Any, *, then: Callable[[Any], Any] | None = None, **options: Any) -> Any:
    """Declare a field that ``environs`` reads as ``kind`` from its variable; ``then`` converts the value."""
    return dataclasses.field(metadata={"variable": (kind, default, options, then)})


@dataclass(frozen=True, slots=True)
class Environment:
    """The validated configuration. Field names are the variables' names in lower case."""

    debug: bool = _variable("bool", False)
    data_dir: Path = _variable("str", "var", then=_from_root)
    host_name: str = _variable("str", "", then=_this_host)
    pools: list[str] = _variable("list", list(POOLS), validate=_all_pools)
    secret_key: str = _variable("str", "", then=_stripped)
    allowed_hosts: list[str] = _variable("list", ["localhost", "127.0.0.1", "[::1]"])
    csrf_trusted_origins: list[str] = _variable("list", [], validate=_all_origins)
    https: bool = _variable("bool", False)
    hsts_seconds: int = _variable("int", 3600, validate=_range(min=0))
    trust_proxy: bool = _variable("bool", False)
    allow_no_proxy: bool = _variable("bool", False)
    database_url: str = _variable("str", "", validate=_database_url, then=_stripped)
    redis_url: str = _variable("str", "", validate=_redis_url, then=_stripped)
    storage_url: str = _variable("str", "", validate=valid_storage_url, then=_stripped)
    move_storage_to: str = _variable("str", "", validate=valid_storage_url, then=_stripped)
    backups: Path | str = _variable("str", "", validate=_backups, then=_folder_or_bucket)
    backups_keep: int = _variable("int", 14, validate=_range(min=1))
    storage_cache_mb: int = _variable("int", 10_000, validate=_range(min=1))
    email_url: str = _variable("str", "", validate=_email_url, then=_stripped)
    site_address: str = _variable("str", "", validate=_origin, then=_stripped)
    default_from_email: str = _variable("str", "LMR-Board <noreply@localhost>")
    bind: str = _variable("str", "127.0.0.1")
    port: int = _variable("int", 8000, validate=_range(min=1, max=65535))
    web_workers: int = _variable("int", 2, validate=_range(min=1))
    workers: int = _variable("int", 2, validate=_range(min=1))
    model_workers: int = _variable("int", 2, validate=_range(min=0))
    time_zone: str = _variable("str", "UTC", validate=_time_zone)
    log_level: str = _variable("str", "INFO", validate=_one_of(["DEBUG", "INFO", "WARNING", "ERROR"]))
    log_format: str = _variable("str", "console", validate=_one_of(["console", "json"]))
    evaluator_sandbox: Literal["auto", "bubblewrap", "docker"] = _variable(
        "str", "auto", validate=_one_of(["auto", "bubblewrap", "docker"])
    )
    sandbox_python: Path = _variable("str", "/usr/bin/python3", then=Path)
    sandbox_image: str = _variable("str", "lmr-board-box-numpy")
    sandbox_runtime: str = _variable("str", "")
    sandbox_idle_minutes: int = _variable("int", 15, validate=_range(min=0))
    environments_file: Path | None = _variable("str", "", then=_file)
    base_image: str = _variable("str", "python:3.11-slim-bookworm")
    build_network: str = _variable("str", "default")
    build_seconds: int = _variable("int", 3600, validate=_range(min=1))
    sandbox_host_uid: int = _variable("int", 60928, validate=_range(min=1000, max=65278))
    sandbox_allow_no_cgroups: bool = _variable("bool", False)
    lease_seconds: int = _variable("int", 60, validate=_range(min=5))
    infra_retry_seconds: int = _variable("int", 20, validate=_range(min=0))
    self_check_hours: int = _variable("int", 6, validate=_range(min=1))
    audit_mutants: int = _variable("int", 80, validate=_range(min=1))
    daily_submissions: int = _variable("int", 10, validate=_range(min=0))
    daily_cancelled: int = _variable("int", 30, validate=_range(min=0))
    output_tree_upload_mb: int = _variable("int", 100, validate=_range(min=1, max=1000))
    output_tree_unpacked_mb: int = _variable("int", 1024, validate=_range(min=1))
    output_tree_files: int = _variable("int", 60000, validate=_range(min=1, max=65000))
    endpoint_keys: list[str] = _variable("list", [], validate=_all_long)
    endpoint_networks: list[str] = _variable("list", [], validate=_all_networks)
    agent_steps: int = _variable("int", 40, validate=_range(min=1, max=500))
    judge_daily_dollars: float = _variable("float", 10.0, validate=_range(min=0))
    judge_daily_tokens: int = _variable("int", 5_000_000, validate=_range(min=0))
    review_lease_seconds: int = _variable("int", 1800, validate=_range(min=5))
    review_audit_share: float = _variable("float", 0.1, validate=_range(min=0, max=1))
    review_gap_share: float = _variable("float", 0.2, validate=_range(min=0, max=1))
    review_repeat_share: float = _variable("float", 0.07, validate=_range(min=0, max=1))
    sign_up_open: bool = _variable("bool", True)
    require_second_factor: list[str] = _variable("list", [], validate=_all_roles, then=_each_stripped)
    github_client_id: str = _variable("str", "", then=_stripped)
    github_client_secret: str = _variable("str", "", then=_stripped)
    github_url: str = _variable("str", "", validate=_origin, then=_stripped)
    orcid_client_id: str = _variable("str", "", then=_stripped)
    orcid_client_secret: str = _variable("str", "", then=_stripped)
    api_anonymous_requests: int = _variable("int", 60, validate=_range(min=1))
    api_token_requests: int = _variable("int", 300, validate=_range(min=1))
    data_licence: str = _variable("str", "", then=_stripped)
    metrics_token: str = _variable("str", "", then=_stripped)
    metrics_listen: str = _variable("str", "", validate=_listens, then=_stripped)
    keep_logs_days: int = _variable("int", 0, validate=_range(min=0))
    keep_raw_replies_days: int = _variable("int", 0, validate=_range(min=0))
    keep_uploads_days: int = _variable("int", 0, validate=_range(min=0))
    keep_trajectories_days: int = _variable("int", 0, validate=_range(min=0))
    sentry_dsn: str = _variable("str", "", validate=_dsn, then=_stripped)
    contact: str = _variable("str", "")
    source_code: str = _variable("str", "", validate=_source_code, then=_stripped)
    security_contact: str = _variable("str", "", validate=_contact_address, then=_stripped)

    @property
    def embedded_redis_socket(self) -> Path:
        """The socket where the embedded Redis listens if ``REDIS_URL`` is empty.

        It is below the data folder, unless that path is too long for a Unix socket: then in a private folder below
        ``/tmp``, named after user and data folder. Not below ``TMPDIR``: every process must compute the same path.
        """
        socket = self.data_dir / "run" / "redis.sock"
        if len(os.fsencode(socket)) <= LONGEST_SOCKET_PATH:
            return socket
        name = hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]
        return Path("/tmp") / f"lmr-board-{os.getuid()}-{name}" / "redis.sock"  # noqa: S108 - the supervisor checks its owner

    @property
    def exposed(self) -> bool:
        """Whether the operator accepts that other machines reach the web server without a proxy."""
        return self.allow_no_proxy and not self.trust_proxy

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """The address and port of ``METRICS_LISTEN``; None if it is empty."""
        return _listen_address(self.metrics_listen)

    @property
    def evaluates(self) -> bool:
        """Whether this host runs boxes."""
        return not {"tests", "builds"}.isdisjoint(self.pools)

    @property
    def queue_url(self) -> str:
        """The URL of the queue's Redis: the configured server, else the embedded one's Unix socket."""
        return self.redis_url or f"unix://{self.embedded_redis_socket}?db=0"

    @property
    def needs_keys(self) -> bool:
        """Whether this host signs sessions or opens the providers' keys."""
        return not {"site", "model_calls"}.isdisjoint(self.pools)

    @property
    def keys_problem(self) -> str:
        """Why the web server and model workers may not start without keys; empty if they may, or this host has neither.

        Keys that are made on first use lie in one host's data folder, so they serve one host only.
        """
        if not self.needs_keys:
            return ""
        absent = [name for name in ("SECRET_KEY", "ENDPOINT_KEYS") if not getattr(self, name.lower())]
        if not absent or not self.redis_url or not urlsplit(self.database_url).scheme.startswith("postgres"):
            return ""
        return (
            f"DATABASE_URL and REDIS_URL name servers, which several hosts may share, but {' and '.join(absent)} "
            f"{'are' if absent[1:] else 'is'} not set, so that each host would make its own.\n"
            "Print those of this data folder with manage.py keys, which makes missing ones, and set them on every host "
            "with the pool site or model_calls."
        )

    @property
    def rq_queues(self) -> dict[str, dict[str, Any]]:
        """The value of django-rq's ``RQ_QUEUES``.

        Web requests use the queue, so connections time out after two seconds; workers, which wait for jobs, set a
        longer time-out themselves. Jobs have no time-out: RQ cannot know how much work a job will claim, but every box
        and every model request has a limit, and a lease ends when its worker does.
        """
        seconds = "socket_timeout=2&socket_connect_timeout=2"
        url = f"{self.queue_url}{'&' if urlsplit(self.queue_url).query else '?'}{seconds}"
        queue = {"URL": url, "DEFAULT_TIMEOUT": -1, "SERIALIZER": "json"}
        return dict.fromkeys(("default", "audits", "models", "site"), queue)


class Variables(FileAwareEnv):
    """Read lazily, to collect all errors, including unreadable ``NAME_FILE`` files."""

    def __init__(self) -> None:
        super().__init__(eager=False)
        self.unreadable: dict[str, list[str]] = {}

    def _get_value(self, env_key: str, default: Any) -> Any:
        try:
            return super()._get_value(env_key, default)
        except (ValueError, OSError):
            self.unreadable[f"{env_key}{self.file_suffix}"] = ["This file cannot be read as text."]
            return default


def read(env: Variables) -> Environment:
    """Read every variable from ``env``. Raises :class:`ConfigurationError` listing all errors."""
    # A lazy Env returns None for a wrong value and reports it when sealed.
    values: dict[str, Any] = {}
    for field in fields(Environment):
        kind, default, options, then = field.metadata["variable"]
        value = getattr(env, kind)(field.name.upper(), default, **options)
        values[field.name] = then(value) if then else value
    values["database_url"] = values["database_url"] or f"sqlite:///{values['data_dir'] / 'db.sqlite3'}"
    errors = dict(env.unreadable)
    # A wrong value is None here, and reported below.
    listen = _listen_address(values["metrics_listen"] or "")
    if listen and not ipaddress.ip_address(listen[0]).is_loopback and not values["metrics_token"]:
        errors["METRICS_LISTEN"] = ["Other machines can reach this address, so set METRICS_TOKEN as well."]
    for provider in ("GITHUB", "ORCID"):
        names = [f"{provider}_CLIENT_ID", f"{provider}_CLIENT_SECRET"]
        absent = [name for name in names if not values[name.lower()]]
        if len(absent) == 1:
            errors[absent[0]] = ["The provider gives an id and a secret; set both or neither."]
    try:
        env.seal()
    except EnvValidationError as error:
        errors |= cast("dict[str, list[str]]", error.error_messages)
    if errors:
        lines = [
            f"  {name}: {' '.join(str(message) for message in messages)}" for name, messages in sorted(errors.items())
        ]
        message = "The configuration is wrong (environment or .env; see docs/configuration.md):\n" + "\n".join(lines)
        raise ConfigurationError(message)
    return Environment(**values)


@cache
def load() -> Environment:
    """Return the configuration of this process, read once. Raises :class:`ConfigurationError`."""
    env = Variables()
    env.read_env(str(_env_file()), recurse=False)
    return read(env)


def unknown_names() -> list[str]:
    """Return a warning for each unknown name in the ``.env`` file, since a misspelt name has no effect."""
    file = _env_file()
    known = {field.name.upper() for field in fields(Environment)}
    known |= {f"{name}{Variables().file_suffix}" for name in known}
    warnings = []
    for name in dotenv.dotenv_values(file, interpolate=False):
        if name not in known:
            similar = difflib.get_close_matches(name.upper(), known, n=1)
            hint = f" Did you mean {similar[0]}?" if similar else ""
            warnings.append(f"{name} in {file.name} is not a setting (docs/configuration.md lists all).{hint}")
    return warnings


def _env_file() -> Path:
    return PROJECT_ROOT / os.environ.get("ENV_FILE", ".env")


def secret_key(environment: Environment) -> str:
    """Return the configured secret key, else one generated on first use and stored in the data folder.

    Raises :class:`ConfigurationError` if the data folder can be neither read nor written.
    """
    if environment.secret_key:
        return environment.secret_key
    file = environment.data_dir / "secret_key"
    try:
        return _stored_key(file)
    except OSError as error:
        message = f"DATA_DIR: the secret key cannot be read or stored in {file.parent}: {error.strerror}."
        raise ConfigurationError(message) from error


def _stored_key(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{secrets.token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(60), encoding="ascii")
    try:
        # The hard link fails if another process was first; both then read the same key.
        file.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return file.read_text(encoding="ascii").strip()
