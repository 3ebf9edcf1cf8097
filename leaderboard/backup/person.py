"""Export what an instance keeps of one person."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from contextlib import suppress
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Final

from benchmark_tasks.domain import content
from leaderboard.backup.rows import blob_fields, blobs_of, plain, stored_fields
from submissions.models import Endpoint, Implementation, OrganisationGrant, Submission, System, User

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

    from benchmark_tasks.domain.garbage import Blob

_SECRET: Final = frozenset({"password", "sealed_key", "digest", "token", "secret_digest", "held_reason"})
"""Fields that let others act for the person, and reasons that name paths of the machine."""
_SECRET_OF: Final = {"mfa.Authenticator": frozenset({"data"})}
"""Fields that are secret in one model only: a second factor's secret."""
_BLIND: Final = frozenset({"reviews.Case", "reviews.CaseEvent"})
"""Models that would reveal to annotators which answers they get a second time."""
_ANSWER: Final = ("id", "submission_id", "revision_id", "trial", "attempted", "files", "deleted", "raw_answer", "usage")
"""The fields of an answer that the person sent; the others are results."""


def export(user: User, stream: IO[bytes]) -> int:
    """Write a zip: ``data.json`` with the person's rows by model, and the files they sent. Return the number of rows.

    Rows are the account, what refers to it, and what refers to its one-to-one parts, such as an annotator's labels.
    What belongs to a team stays out: the person may have left it.
    Raises StorageUnavailableError, OSError.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    blobs: set[Blob] = set()
    for row in chain.from_iterable(_rows_of(user)):
        secret = _SECRET | _SECRET_OF.get(row._meta.label, frozenset())
        fields = [field for field in stored_fields(type(row)) if field.attname not in secret]
        if isinstance(row, Implementation):
            fields = [field for field in fields if field.attname in _ANSWER]
        rows.setdefault(row._meta.label, []).append({field.attname: plain(field, row) for field in fields})
        blobs |= blobs_of(row, blob_fields(type(row)))
    with zipfile.ZipFile(stream, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.json", json.dumps(rows, indent=1, ensure_ascii=False, default=str))
        for blob in sorted(blobs):
            with suppress(content.ContentMissingError), content.packed(*blob) as file:
                archive.write(file, f"files/{blob.found}")
    return sum(map(len, rows.values()))


def counts(user: User) -> dict[str, int]:
    """Return how many rows of each model :func:`export` would write, by the model's label in ``data.json``."""
    found: Counter[str] = Counter()
    for rows in _rows_of(user):
        found[rows.model._meta.label] += rows.count()
    return {label: number for label, number in found.items() if number}


def _rows_of(user: User) -> Iterator[QuerySet[Any]]:
    parts: list[Any] = [user]
    for part in parts:
        # Not type(part): a request's user is a lazy wrapper.
        yield part.__class__._base_manager.filter(pk=part.pk)
        for relation in part._meta.get_fields(include_hidden=True):
            hidden = not (relation.one_to_many or relation.one_to_one) or relation.concrete
            if hidden or relation.related_model._meta.auto_created or relation.related_model._meta.label in _BLIND:
                continue
            if relation.related_model is OrganisationGrant and relation.field.name != "account":
                continue  # of others, which a maintainer made or ended
            rows = relation.related_model._base_manager.filter(**{relation.field.name: part}).order_by("pk")
            if relation.related_model in {Endpoint, Submission, System}:
                rows = rows.filter(team=None)
            if relation.one_to_one and isinstance(part, User):
                parts.extend(rows)
            else:
                yield rows
    yield Implementation.objects.filter(submission__owner=user, submission__team=None).order_by("pk")
