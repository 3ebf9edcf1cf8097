"""``manage.py rotate_endpoint_keys``: a new secret in front, and old ones that are gone."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.core.management import CommandError, call_command

from submissions.domain import endpoints
from submissions.models import Endpoint
from tests.submissions.endpoints.factories import DESCRIBED, KEY

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

    from submissions.models import User

pytestmark = pytest.mark.django_db
OLD, NEW = "o" * 40, "n" * 40


def use(settings: Settings, *secrets: str) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, endpoint_keys=list(secrets))


def rotated() -> str:
    out = io.StringIO()
    call_command("rotate_endpoint_keys", stdout=out)
    return out.getvalue()


@pytest.fixture
def endpoint(settings: Settings, alice: User) -> Endpoint:
    use(settings, OLD)
    return endpoints.add(owner=alice, described=DESCRIBED, key=KEY)


def test_afterwards_the_old_secret_is_not_needed(endpoint: Endpoint, settings: Settings, alice: User) -> None:
    use(settings, NEW, OLD)
    endpoints.add(owner=alice, described={**DESCRIBED, "name": "new"}, key="sk-new")
    endpoints.add(owner=alice, described={**DESCRIBED, "name": "none"})
    assert rotated() == "1 key sealed again, 1 key sealed with the first secret before.\n"
    use(settings, NEW)
    endpoint.refresh_from_db()
    assert endpoints.key_of(endpoint) == KEY
    assert rotated() == "0 keys sealed again, 2 keys sealed with the first secret before.\n"


def test_a_lost_secret_is_said_and_harms_no_other_key(endpoint: Endpoint, settings: Settings, alice: User) -> None:
    use(settings, NEW)
    other = endpoints.add(owner=alice, described={**DESCRIBED, "name": "new"}, key="sk-new")
    with pytest.raises(CommandError, match=f"opens the keys of these endpoints: {endpoint.pk} of alice"):
        rotated()
    with pytest.raises(endpoints.KeyLostError):
        endpoints.key_of(endpoint)
    assert endpoints.key_of(other) == "sk-new"
    use(settings, NEW, OLD)
    endpoint.refresh_from_db()
    assert endpoints.key_of(endpoint) == KEY


def test_from_the_file_to_a_configured_secret(settings: Settings, alice: User, data_dir: Path) -> None:
    endpoint = endpoints.add(owner=alice, described=DESCRIBED, key=KEY)
    use(settings, NEW)
    assert endpoints.key_of(endpoint) == KEY
    assert rotated().startswith("1 key sealed again")
    (data_dir / "endpoint_key").unlink()
    endpoint.refresh_from_db()
    assert endpoints.key_of(endpoint) == KEY
