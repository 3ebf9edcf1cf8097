"""Store immutable files and folders (trees), each under the hash of its content.

Without ``STORAGE_URL`` the store is the folder ``DATA_DIR/content``. With it, the store is a bucket, and a folder below
``DATA_DIR/cache`` holds what this host used lately: everything in it is in the bucket, too, and may be lost.

Nothing in a store is changed in place: content is written to a temporary name beside it, made read-only and renamed.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import secrets
import shutil
import tarfile
import tempfile
import time
import zlib
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from django.conf import settings
from django.template.defaultfilters import filesizeformat

from benchmark_tasks.domain.bucket import DamagedError, NoObjectError, StorageUnavailableError, bucket
from benchmark_tasks.domain.folders import PathLeavesFolderError, clean_relative_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from benchmark_tasks.domain.bucket import Bucket

Content: TypeAlias = bytes | Path
"""A file's bytes, or the path of a regular file: whole repositories are never held in memory."""

Kind: TypeAlias = Literal["files", "trees"]

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_PIECE: Final = 1024 * 1024
_CHANGED: Final = "it changed while it was read"
_NO_ARCHIVE: Final = (
    *(tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError, ValueError, PathLeavesFolderError),
    *(KeyError, RecursionError),  # a link to no file, or to itself
)
"""What reading bytes that are no archive of a tree raises."""
OWNER_KEY: Final = "instance"
"""The object, or file, that says which instance the store belongs to."""
GRACE: Final = timedelta(days=1)
"""How long content stays that no row names: it is stored before its row."""
_BETWEEN_TIDIES: Final = 600.0
_IN_USE_SECONDS: Final = 24 * 3600.0
"""Content used this lately is never removed from the cache: a box may have it mounted."""
_UNUSED_SECONDS: Final = 7 * 24 * 3600.0
"""Content unused this long leaves a cache of any size: what was removed from the bucket must go here, too."""


class ContentMissingError(FileNotFoundError):
    """Raised when the store has no content with this hash; importing the suite again restores a task's."""


def tree_hash(files: Mapping[str, Content]) -> str:
    """Return the SHA-256 (hexadecimal) of sorted names and contents, each preceded by its length. Raises OSError."""
    digest = hashlib.sha256(b"tree\0")
    for name in sorted(files):
        for part in (name.encode(), files[name]):
            digest.update(_size(part).to_bytes(8, "big"))
            for piece in _pieces(part):
                digest.update(piece)
    return digest.hexdigest()


def file_hash(content: Content) -> str:
    """Return the SHA-256 (hexadecimal) of one file. Raises OSError."""
    digest = hashlib.sha256()
    for piece in _pieces(content):
        digest.update(piece)
    return digest.hexdigest()


def put_tree(files: Mapping[str, Content]) -> str:
    """Store a folder (clean relative path -> content) and return its hash. Storing it again costs only the hashing.

    Files that are already in the store are linked, not copied. Raises ValueError for a path that is not clean, or that
    is both a file and a folder; OSError if a file cannot be read or the disk is full; StorageUnavailableError.
    """
    _refuse_unclean(files)
    found = tree_hash(files)
    if not _is_stored("trees", found):
        place = place_of("trees", found)
        draft = _draft(place)
        try:
            draft.mkdir(parents=True)
            _write_tree(draft, files)
            if tree_hash({name: draft / name for name in files}) != found:
                raise OSError(0, _CHANGED)
            _keep("trees", draft, place)
        finally:
            _delete(draft)
    return found


def tree_path(tree: str) -> Path:
    """Return the read-only folder of a stored tree. Raises ContentMissingError, StorageUnavailableError."""
    return _here("trees", tree)


def tree_files(tree: str) -> dict[str, Path]:
    """Return the files of a stored tree by name, in the order of names. Raises as :func:`tree_path` does."""
    return _files_below(tree_path(tree))


def put_file(content: Content) -> str:
    """Store one file and return the SHA-256 of its bytes. Raises OSError, StorageUnavailableError."""
    found = file_hash(content)
    return found if _is_stored("files", found) else put_pieces(_pieces(content))


def put_pieces(pieces: Iterable[bytes]) -> str:
    """Store one file that is never in memory as a whole, and return its SHA-256. Raises as :func:`put_file` does."""
    digest = hashlib.sha256()
    draft = _draft(root() / "files" / "new")
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        with draft.open("wb") as file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
        draft.chmod(0o444)
        _keep("files", draft, place_of("files", digest.hexdigest()))
    finally:
        draft.unlink(missing_ok=True)
    return digest.hexdigest()


def file_path(file: str) -> Path:
    """Return the path of a stored file, which is read-only. Raises ContentMissingError, StorageUnavailableError."""
    return _here("files", file)


def root() -> Path:
    """Return the folder of the store, or of the cache of its bucket."""
    shared = bucket()
    return Path(settings.DATA_DIR) / f"cache/{shared.identity}" if shared else local_root()


def where() -> str:
    """Return where content is stored, for operators: an address without a secret, or a folder."""
    shared = bucket()
    return f"{shared.address}/{shared.name}/{shared.prefix}" if shared else str(local_root())


def local_root() -> Path:
    """Return the folder of a store without a bucket."""
    return Path(settings.DATA_DIR) / "content"


def place_of(kind: Kind, found: str, folder: Path | None = None) -> Path:
    """Return where content is, if it exists, in ``folder`` or :func:`root`. Raises ContentMissingError for no hash."""
    if not _HASH.fullmatch(found):
        raise ContentMissingError(f"{found!r} is no content hash")
    return (folder or root()) / kind / found[:2] / found


def key_of(kind: Kind, found: str) -> str:
    """Return the key of content in a bucket."""
    return f"{kind}/{found}"


def stored_at(kind: Kind, found: str) -> datetime | None:
    """Return when content was last stored; None if the store lacks it. Raises StorageUnavailableError."""
    shared = bucket()
    if shared is not None:
        return shared.written(key_of(kind, found))
    with suppress(FileNotFoundError):
        return datetime.fromtimestamp(place_of(kind, found).stat().st_mtime, UTC)
    return None


def remove(kind: Kind, found: str, *, older_than: datetime | None = None) -> None:
    """Remove content, unless it was stored after ``older_than``; readers find all of it or nothing.

    Raises StorageUnavailableError, OSError.
    """
    place, shared = place_of(kind, found), bucket()
    if shared is not None:
        stored = shared.written(key_of(kind, found))
        if older_than is None or (stored is not None and stored < older_than):
            shared.delete([key_of(kind, found)])
            _remove(place)
        return
    gone = _draft(place)
    with suppress(FileNotFoundError):
        place.rename(gone)
        # Looked at after the renaming: a process that stores it from now on finds nothing and writes it.
        if older_than is not None and datetime.fromtimestamp(gone.stat().st_mtime, UTC) >= older_than:
            _move_into_place(gone, place)
        _delete(gone)


def claim_store(owner: str) -> bool:
    """Return whether the store belongs to the instance ``owner``; one that belongs to none is taken.

    Raises StorageUnavailableError, OSError.
    """
    shared = bucket()
    mark = local_root() / OWNER_KEY
    if shared is None:
        if not mark.exists():
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.write_text(owner, encoding="ascii")
        return mark.read_text(encoding="ascii") == owner
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "owner"
        try:
            shared.fetch(OWNER_KEY, file)
        except NoObjectError:
            file.write_text(owner, encoding="ascii")
            shared.send(OWNER_KEY, file)
        return file.read_text(encoding="ascii") == owner


def is_whole(kind: Kind, found: str) -> bool:
    """Return whether stored content has its digest, without looking into a cache.

    Raises ContentMissingError, StorageUnavailableError, OSError.
    """
    shared = bucket()
    if shared is None:
        return _digest(kind, _here(kind, found)) == found
    root().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root(), prefix=".check-") as folder:
        try:
            _fetch(shared, kind, place_of(kind, found, Path(folder)))
        except DamagedError:
            return False
    return True


def copy_to(target: Bucket | None, kind: Kind, found: str) -> None:
    """Copy content to another bucket, or from the bucket to the data folder (None).

    Raises ContentMissingError, StorageUnavailableError, OSError.
    """
    shared = bucket()
    if target is None:
        assert shared is not None  # noqa: S101 - otherwise the data folder is where it comes from
        _fetch(shared, kind, place_of(kind, found, local_root()))
        return
    with packed(kind, found) as file:
        target.send(key_of(kind, found), file)


@contextmanager
def packed(kind: Kind, found: str) -> Iterator[Path]:
    """Yield one file with stored content: the file itself, or a tree as an archive.

    Raises ContentMissingError, DamagedError, StorageUnavailableError, OSError.
    """
    place = _here(kind, found)
    if _digest(kind, place) != found:
        raise DamagedError(f"The content at {place} is damaged.")
    with _as_file(kind, place) as file:
        yield file


def put_packed(kind: Kind, found: str, pieces: Iterable[bytes]) -> None:
    """Store what :func:`packed` yielded. Raises DamagedError for other content; OSError, StorageUnavailableError."""
    if _is_stored(kind, found):
        return
    place = place_of(kind, found)
    archive, draft = _draft(place), _draft(place)
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with archive.open("wb") as file:
            file.writelines(pieces)
        if _unpacked(kind, archive, draft) != found:
            raise DamagedError(f"{key_of(kind, found)} has other content than its name says.")
        _keep(kind, draft, place)
    except _NO_ARCHIVE as error:
        raise DamagedError(f"{key_of(kind, found)} is no archive.") from error
    finally:
        _delete(archive)
        _delete(draft)


def digest_of_packed(kind: Kind, pieces: Iterable[bytes]) -> str:
    """Return the digest of the content that :func:`packed` yielded; empty if it is no archive. Raises OSError."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "packed"
        with archive.open("wb") as file:
            file.writelines(pieces)
        with suppress(*_NO_ARCHIVE):
            return _unpacked(kind, archive, archive.with_name("content"))
    return ""


def _unpacked(kind: Kind, archive: Path, draft: Path) -> str:
    """Make content at ``draft`` of its packed form, and return its digest. Raises as reading an archive does."""
    if kind == "files":
        archive.chmod(0o444)
        archive.rename(draft)
    else:
        _unpack(archive, draft)
    return _digest(kind, draft)


def _digest(kind: Kind, place: Path) -> str:
    return file_hash(place) if kind == "files" else tree_hash(_files_below(place))


def _is_stored(kind: Kind, found: str) -> bool:
    """Return whether content need not be written now: it exists, and stays long enough for a row to name it."""
    if bucket() is None:
        with suppress(FileNotFoundError):
            os.utime(place_of(kind, found))  # the grace period starts again
            return True
        return False
    stored = stored_at(kind, found)
    return stored is not None and datetime.now(UTC) - stored < GRACE / 2


def _here(kind: Kind, found: str) -> Path:
    place, shared = place_of(kind, found), bucket()
    if shared is not None:
        with suppress(OSError):
            os.utime(place)  # the time of last use
            return place
        with suppress(OSError):
            tidy()
        _fetch(shared, kind, place)
    elif not place.exists():
        raise _missing(kind, found)
    return place


def _missing(kind: Kind, found: str) -> ContentMissingError:
    return ContentMissingError(f"The content store has no {kind[:-1]} {found}.")


def _keep(kind: Kind, draft: Path, place: Path) -> None:
    """Move finished content into its place; what is in a cache was sent to the bucket before."""
    shared = bucket()
    if shared is not None:
        with _as_file(kind, draft) as file:
            shared.send(key_of(kind, place.name), file)
    _move_into_place(draft, place)


def _move_into_place(draft: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        draft.rename(place)
    except OSError:
        # Another process stored the same tree first; anything else is an error of the disk.
        if not place.exists():
            raise


@contextmanager
def _as_file(kind: Kind, place: Path) -> Iterator[Path]:
    """Yield one file with the content: a file itself, or a tree as an archive."""
    if kind == "files":
        yield place
        return
    with tempfile.NamedTemporaryFile(dir=place.parent, prefix=".packed-") as packed:
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
            for name, path in _files_below(place).items():
                archive.add(path, name, recursive=False)
        packed.flush()
        yield Path(packed.name)


def _fetch(shared: Bucket, kind: Kind, place: Path) -> None:
    """Copy content from the bucket to ``place``. Raises ContentMissingError, StorageUnavailableError."""
    draft = _draft(place)
    archive = _draft(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        shared.fetch(key_of(kind, place.name), archive)
        if _unpacked(kind, archive, draft) != place.name:
            raise _wrong_bytes(shared, kind, place.name)
        _move_into_place(draft, place)
    except NoObjectError:
        raise _missing(kind, place.name) from None
    except _NO_ARCHIVE as error:
        raise _wrong_bytes(shared, kind, place.name) from error
    except OSError as error:
        # The content exists, so this must not look as if it were missing.
        raise StorageUnavailableError(f"{place.parent} cannot be written: {error}") from error
    finally:
        for left in (archive, draft):
            with suppress(NotADirectoryError):
                _delete(left)


def _wrong_bytes(shared: Bucket, kind: Kind, found: str) -> DamagedError:
    return DamagedError(f"The storage at {shared.address} holds wrong bytes as {key_of(kind, found)}.")


def _unpack(packed: Path, folder: Path) -> None:
    folder.mkdir()
    with tarfile.open(packed, mode="r:gz") as archive:
        for each in archive:
            # A file under two names is written once, and linked.
            source = archive.extractfile(each) if each.isreg() or each.islnk() else None
            if source is None:
                continue
            path = folder / clean_relative_path(each.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as target:
                shutil.copyfileobj(source, target, _PIECE)
            path.chmod(0o444)
    _make_read_only(folder)


def tidy() -> None:
    """Remove what killed processes left unfinished; shrink a cache to ``STORAGE_CACHE_MB``, least recently used first.

    Does nothing within ten minutes of the last time.
    """
    mark, now = root() / ".tidied", time.time()
    if now - _modified(mark) < _BETWEEN_TIDIES:
        return
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    for draft in [*root().glob(".check-*"), *root().glob("*/.*"), *root().glob("*/*/.*")]:
        if now - _modified(draft) > _IN_USE_SECONDS:
            _delete(draft)
    if bucket() is not None:
        with suppress(FileNotFoundError):  # another process removes content, too
            _trim(now)


def _trim(now: float) -> None:
    kept = sorted((_modified(path), path) for path in root().glob("*/*/[!.]*"))
    sizes = {path: size_of(path) for _, path in kept}
    left = sum(sizes.values()) - settings.ENVIRONMENT.storage_cache_mb * 1024 * 1024
    for used, path in kept:
        if now - used < (_IN_USE_SECONDS if left > 0 else _UNUSED_SECONDS):
            break
        if _modified(path) == used:  # it was not used while the others were measured
            _remove(path)
            left -= sizes[path]


def _modified(path: Path) -> float:
    """Return when ``path`` was last changed; 0 if it does not exist."""
    with suppress(FileNotFoundError):
        return path.stat().st_mtime
    return 0.0


def _remove(place: Path) -> None:
    gone = _draft(place)
    with suppress(FileNotFoundError):
        place.rename(gone)
        _delete(gone)


def _draft(place: Path) -> Path:
    """Return a temporary path beside ``place``: a read-only folder can be renamed only within the same parent."""
    return place.with_name(f".{place.name[:12]}-{secrets.token_hex(6)}")


def _write_tree(draft: Path, files: Mapping[str, Content]) -> None:
    for name, content in files.items():
        path = draft / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _link(path, content):
            _write(path, content)
    _make_read_only(draft)


def _make_read_only(folder: Path) -> None:
    for place, _, _ in os.walk(folder, topdown=False):
        Path(place).chmod(0o555)


def _link(path: Path, content: Content) -> bool:
    """Hard-link a file of the store, which never changes; return false if it has to be copied."""
    if isinstance(content, bytes) or not content.is_relative_to(root()):
        return False
    try:
        path.hardlink_to(content)
    except OSError:
        return False
    return True


def _write(path: Path, content: Content) -> None:
    with path.open("wb") as file:
        for piece in _pieces(content):
            file.write(piece)
    path.chmod(0o444)


def _files_below(folder: Path) -> dict[str, Path]:
    found = (Path(place) / name for place, _, names in os.walk(folder) for name in names)
    return {path.relative_to(folder).as_posix(): path for path in sorted(found)}


def _size(content: Content) -> int:
    return content.stat().st_size if isinstance(content, Path) else len(content)


def size_of(place: Path) -> int:
    """Return the bytes of a file, or of all files of a tree."""
    paths = _files_below(place).values() if place.is_dir() else [place]
    return sum(path.stat().st_size for path in paths)


def size_text(size: int) -> str:
    """Return a number of bytes for people, with a plain blank: ``1.2 MB``."""
    return filesizeformat(size).replace("\xa0", " ")


def _pieces(content: Content) -> Iterator[bytes]:
    if not isinstance(content, Path):
        yield content
        return
    with content.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _delete(draft: Path) -> None:
    if draft.is_dir():
        for place, _, _ in os.walk(draft):
            Path(place).chmod(0o755)
        shutil.rmtree(draft)
    else:
        draft.unlink(missing_ok=True)


def _refuse_unclean(files: Mapping[str, Content]) -> None:
    folders = {str(parent) for name in files for parent in Path(name).parents}
    for name in files:
        try:
            clean = clean_relative_path(name) == name
        except PathLeavesFolderError:
            clean = False
        if not clean:
            raise ValueError(f"{name!r} is not a clean relative path")
        if name in folders:
            raise ValueError(f"{name!r} is both a file and a folder")
