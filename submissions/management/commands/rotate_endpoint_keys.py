"""``manage.py rotate_endpoint_keys``: seal every stored key and second factor with the first of ENDPOINT_KEYS."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from submissions.domain import second_factor
from submissions.domain.endpoint_keys import rotate


class Command(BaseCommand):
    """Re-seal keys that an older secret sealed; afterwards the older secret can be removed."""

    help = "Seal the keys of all model endpoints and all second factors with the first of ENDPOINT_KEYS."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Re-seal the keys. Raises CommandError if one cannot be opened: its secret is missing or lost."""
        done, factors = rotate(), second_factor.reseal()
        resealed, current = done.resealed + factors.resealed, done.current + factors.current
        self.stdout.write(f"{_keys(resealed)} re-sealed, {_keys(current)} already sealed with the first secret.")
        if done.lost:
            names = ", ".join(f"{endpoint.pk} of {endpoint.owner.username}" for endpoint in done.lost)
            msg = (
                f"No configured secret opens the keys of these endpoints: {names}. "
                "Put the secret that sealed them back into ENDPOINT_KEYS, or have their owners store the keys again."
            )
            raise CommandError(msg)
        if factors.lost:
            msg = (
                f"No configured secret opens the second factors of {', '.join(factors.lost)}. Put the secret that "
                "sealed them back into ENDPOINT_KEYS, or remove them: manage.py second_factor USER --remove."
            )
            raise CommandError(msg)


def _keys(number: int) -> str:
    return "1 key" if number == 1 else f"{number} keys"
