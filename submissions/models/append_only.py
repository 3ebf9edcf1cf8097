"""Base of append-only models, whose rows are never changed or deleted."""

from __future__ import annotations

from typing import Any, Never, TypeVar

from django.db import models

_Row = TypeVar("_Row", bound=models.Model, covariant=True)


class AppendOnlyQuerySet(models.QuerySet[_Row]):
    """Refuse updates and deletions."""

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
    """Base of append-only models. Use it with a manager of :class:`AppendOnlyQuerySet`."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store a new row. Raises ``TypeError`` for a stored one."""
        if not self._state.adding:
            msg = f"{self._meta.verbose_name_plural} are append-only and cannot be changed"
            raise TypeError(msg)
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Never:  # noqa: ARG002 - Django's signature
        """Raise ``TypeError``: rows are never deleted."""
        msg = f"{self._meta.verbose_name_plural} are append-only and cannot be deleted"
        raise TypeError(msg)
