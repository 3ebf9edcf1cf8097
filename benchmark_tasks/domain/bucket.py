"""Files in the S3-compatible bucket that ``STORAGE_URL`` names, which all hosts of an instance share.

Every object is stored with the SHA-256 of its bytes, which is compared whenever it is read.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import parse_qs, unquote, urlsplit

import structlog
from django.conf import settings
from django.core.files.storage import storages

from benchmark_tasks.domain import metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from urllib.parse import SplitResult

TRIES: Final = 3
"""How often a request is tried, and how often an object is read whose bytes arrive incomplete or changed."""
CONNECT_SECONDS: Final = 3
READ_SECONDS: Final = 30
"""How long the bucket may send nothing while content is transferred."""
LOOK_UP_SECONDS: Final = 5
"""The same for requests without content, which pages wait for."""
TRANSFER_SECONDS: Final = 900
"""How long one object may take to arrive."""
DOWN_SECONDS: Final = 10.0
"""How long a process asks a bucket nothing that did not answer: a web server has few threads to wait with."""
_PAUSE_SECONDS: Final = 0.5
_PIECE: Final = 1024 * 1024
_DIGEST: Final = "sha256"
_REGION: Final = "us-east-1"
"""What servers of one's own call their only region."""
log = structlog.get_logger(__name__)
_FAILED: Final = metrics.counter("storage_errors", "Requests to the bucket that failed.", "operation")
_down_until: dict[str, float] = {}
"""Address of a bucket that did not answer -> until when this process does not ask it again."""


class StorageUnavailableError(Exception):
    """Raised when the bucket does not answer, refuses, or returns wrong bytes; the same may succeed later."""

    public: str = "the file storage did not answer"
    """What others than maintainers may read."""


class DamagedError(StorageUnavailableError):
    """Raised for bytes that do not have their digest; other objects may be whole."""

    public = "a stored file is damaged"


class NoObjectError(Exception):
    """Raised when the bucket has no object with this key."""


class _BadTransferError(StorageUnavailableError):
    """Raised when an object's bytes arrive incomplete."""


class StoredObject(NamedTuple):
    """An object's key below the bucket's prefix, its size in bytes, and when it was written."""

    key: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket, or the part of it below a prefix; ``quick`` is the client for requests that pages wait for."""

    client: Any
    quick: Any
    name: str
    prefix: str
    address: str

    @property
    def identity(self) -> str:
        """Sixteen hexadecimal digits that differ between buckets."""
        return hashlib.sha256(f"{self.address} {self.name} {self.prefix}".encode()).hexdigest()[:16]

    def written(self, key: str) -> datetime | None:
        """Return when the object was written; None if there is none. Raises :class:`StorageUnavailableError`."""
        try:
            with self._errors(f"look up {key}"):
                return cast("datetime", self.quick.head_object(**self._place(key))["LastModified"])
        except NoObjectError:
            return None

    def send(self, key: str, file: Path) -> None:
        """Store ``file``, or replace it. Raises :class:`StorageUnavailableError`, or OSError if it cannot be read."""
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        extra = {"Metadata": {_DIGEST: digest}}
        with self._errors(f"store {key}"):
            self.client.upload_file(str(file), self.name, self.prefix + key, ExtraArgs=extra)

    def send_stream(self, key: str, stream: Any) -> None:
        """Store what ``stream.read`` returns, piece by piece. Raises :class:`StorageUnavailableError`, OSError."""
        from boto3.s3.transfer import TransferConfig

        # An object has at most 10,000 parts, so these pieces allow 640 GB.
        pieces = cast("Any", TransferConfig)(multipart_chunksize=64 * _PIECE, max_concurrency=2)
        with self._errors(f"store {key}"):
            self.client.upload_fileobj(stream, self.name, self.prefix + key, Config=pieces)

    @contextmanager
    def opened(self, key: str, *, last: int = 0) -> Iterator[Any]:
        """Open the object as a stream; ``last``: only this many bytes of its end.

        Raises :class:`NoObjectError`, :class:`StorageUnavailableError`, also while it is read.
        """
        part = {"Range": f"bytes=-{last}"} if last else {}
        with (
            self._errors(f"read {key}"),
            closing(self.client.get_object(**self._place(key), **part)["Body"]) as body,
        ):
            yield body

    def fetch(self, key: str, file: Path) -> None:
        """Write the object to ``file``, which holds a part of it after an error.

        Raises :class:`NoObjectError`, :class:`StorageUnavailableError`, or OSError if the disk refuses.
        """
        for attempt in range(1, TRIES + 1):
            try:
                return self._fetch(key, file)
            except (_BadTransferError, DamagedError) as error:
                if attempt == TRIES:
                    raise
                log.warning("storage_retried", error=str(error), attempt=attempt)
                time.sleep(_PAUSE_SECONDS * 2**attempt * (0.5 + secrets.randbelow(1000) / 1000))
        return None

    def listed(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose keys begin with ``prefix``. Raises :class:`StorageUnavailableError`."""
        with self._errors("list its files"):
            pages = self.quick.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=self.prefix + prefix)
            for page in pages:
                for each in page.get("Contents", ()):
                    yield StoredObject(each["Key"].removeprefix(self.prefix), each["Size"], each["LastModified"])

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; unknown keys are ignored. Raises :class:`StorageUnavailableError`."""
        # One by one: servers disagree about the checksum of a request that deletes several.
        for key in keys:
            with self._errors(f"delete {key}"):
                self.quick.delete_object(**self._place(key))

    def _fetch(self, key: str, file: Path) -> None:
        with self._errors(f"read {key}"):
            answer = self.client.get_object(**self._place(key))
        found, began = hashlib.sha256(), time.monotonic()
        with file.open("wb") as target, self._errors(f"read {key}", _BadTransferError), closing(answer["Body"]):
            for piece in answer["Body"].iter_chunks(_PIECE):
                found.update(piece)
                target.write(piece)
                if time.monotonic() - began > TRANSFER_SECONDS:
                    raise self._error(f"read {key}", f"it took more than {TRANSFER_SECONDS} seconds")
        # Objects that another program copied have no digest; content is compared with its own name in any case.
        if found.hexdigest() != answer["Metadata"].get(_DIGEST, found.hexdigest()):
            raise self._error(f"read {key}", "it returned wrong bytes", DamagedError)

    def _place(self, key: str) -> dict[str, str]:
        return {"Bucket": self.name, "Key": self.prefix + key}

    def _error(
        self, act: str, why: object, kind: type[StorageUnavailableError] = StorageUnavailableError
    ) -> StorageUnavailableError:
        metrics.count(_FAILED, act.partition(" ")[0])
        return kind(f"The storage at {self.address} could not {act}: {str(why).rstrip('.')}.")

    @contextmanager
    def _errors(self, act: str, kind: type[StorageUnavailableError] = StorageUnavailableError) -> Iterator[None]:
        # Imported here: an instance without a bucket does without the library.
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError

        if time.monotonic() < _down_until.get(self.address, 0.0):
            raise self._error(act, "it did not answer a moment ago", kind)
        try:
            yield
        except (ConnectTimeoutError, ReadTimeoutError) as error:
            _down_until[self.address] = time.monotonic() + DOWN_SECONDS
            raise self._error(act, error, kind) from error
        except ClientError as error:
            if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404 and _names_a_key(error):
                raise NoObjectError(act) from error
            raise self._error(act, error, kind) from error
        except (BotoCoreError, Boto3Error) as error:
            raise self._error(act, error, kind) from error


def _names_a_key(error: Any) -> bool:
    """Return whether a 404 is about the object; a missing bucket is a wrong setting."""
    return bool(error.response.get("Error", {}).get("Code") != "NoSuchBucket")


def bucket() -> Bucket | None:
    """Return the bucket that ``STORAGE_URL`` names; None for an instance whose files are in its data folder."""
    url = settings.ENVIRONMENT.storage_url
    return _of_process(url, os.getpid()) if url else None


@lru_cache(maxsize=4)
def _of_process(url: str, _process: int) -> Bucket:
    """Return the bucket with a client that threads of this process share; a forked process opens its own."""
    return bucket_at(url)


def bucket_at(url: str) -> Bucket:
    """Return the bucket at ``s3://KEY:SECRET@HOST/BUCKET/PREFIX?region=NAME``, or ``s3+http://`` without encryption.

    Without a key, the library looks for credentials in its own places: variables, files, the machine's role.
    """
    parts = urlsplit(url)
    name, _, prefix = parts.path.strip("/").partition("/")
    address = f"{'http' if parts.scheme == 's3+http' else 'https'}://{parts.netloc.rpartition('@')[2]}"
    clients = (_client(parts, address, name, READ_SECONDS, TRIES), _client(parts, address, name, LOOK_UP_SECONDS, 2))
    return Bucket(*clients, name, f"{prefix}/" if prefix else "", address)


def _client(parts: SplitResult, address: str, name: str, seconds: float, tries: int) -> Any:
    # Imported here: an instance without a bucket does without the library.
    from botocore.config import Config

    client_config = cast("Any", Config)(
        signature_version="s3v4",
        connect_timeout=CONNECT_SECONDS,
        read_timeout=seconds,
        retries={"mode": "standard", "total_max_attempts": tries},
        # A signed payload is one that the server compares with its digest before it stores it.
        s3={"addressing_style": "path", "payload_signing_enabled": True},
        # Other servers than Amazon's often refuse the newer checksums; the content's own digest is checked instead.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    options = {
        "access_key": unquote(parts.username or "") or None,
        "secret_key": unquote(parts.password or "") or None,
        "security_token": None,  # the machine's token belongs to the machine's key
        "bucket_name": name,
        "endpoint_url": address,
        "region_name": parse_qs(parts.query).get("region", [_REGION])[0],
        "client_config": client_config,
    }
    storage: Any = storages.create_storage({"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options})
    return storage.connection.meta.client
