"""Rows that say what happened: stored once, never changed, never deleted."""

from __future__ import annotations

from typing import Any, Never, TypeVar

from django.db import models

_Row = TypeVar("_Row", bound=models.Model, covariant=True)


class AppendOnlyQuerySet(models.QuerySet[_Row]):
    """Refuses what would rewrite history."""

    def update(self, **kwargs: Any) -> Never:
        msg = f"{self._plural} are append-only, so {sorted(kwargs)} cannot be changed"
        raise TypeError(msg)

    def delete(self) -> Never:
        msg = f"{self._plural} are append-only and cannot be deleted"
        raise TypeError(msg)

    @property
    def _plural(self) -> str:
        return str(self.model._meta.verbose_name_plural)  # noqa: SLF001 - Django's documented API


class AppendOnly(models.Model):
    """Base of what is only ever added to. A manager made of :class:`AppendOnlyQuerySet` belongs to it."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store a new row. Raises ``TypeError`` for one that is stored already."""
        if not self._state.adding:
            msg = f"{self._meta.verbose_name_plural} are append-only and cannot be changed"
            raise TypeError(msg)
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Never:  # noqa: ARG002 - Django's signature
        """Raise ``TypeError``: nothing deletes such a row."""
        msg = f"{self._meta.verbose_name_plural} are append-only and cannot be deleted"
        raise TypeError(msg)
