"""Sealed keys: what opens them, what does not, and ``manage.py rotate_endpoint_keys``."""

from __future__ import annotations

import base64
import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.core.management import CommandError, call_command

from submissions.domain import endpoints
from submissions.endpoints.sealing import SealError, seal, unseal
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


def test_the_old_secret_is_not_needed_after_rotation(endpoint: Endpoint, settings: Settings, alice: User) -> None:
    use(settings, NEW, OLD)
    endpoints.add(owner=alice, described={**DESCRIBED, "name": "new"}, key="sk-new")
    endpoints.add(owner=alice, described={**DESCRIBED, "name": "none"})
    assert rotated() == "1 key re-sealed, 1 key already sealed with the first secret.\n"
    use(settings, NEW)
    endpoint.refresh_from_db()
    assert endpoints.key_of(endpoint) == KEY
    assert rotated() == "0 keys re-sealed, 2 keys already sealed with the first secret.\n"


def test_a_lost_secret_is_reported_and_affects_no_other_key(
    endpoint: Endpoint, settings: Settings, alice: User
) -> None:
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


def test_keys_move_from_the_files_secret_to_a_configured_one(settings: Settings, alice: User, data_dir: Path) -> None:
    endpoint = endpoints.add(owner=alice, described=DESCRIBED, key=KEY)
    use(settings, NEW)
    assert endpoints.key_of(endpoint) == KEY
    assert rotated().startswith("1 key re-sealed")
    (data_dir / "endpoint_key").unlink()
    endpoint.refresh_from_db()
    assert endpoints.key_of(endpoint) == KEY


HERE = b"7 https://api.example.org:443"


def test_a_sealed_key_can_be_opened() -> None:
    sealed = seal("sk-secret", secrets=[OLD], context=HERE)
    assert unseal(sealed, secrets=[OLD], context=HERE) == "sk-secret"
    assert "sk-secret" not in sealed
    assert b"sk-secret" not in base64.urlsafe_b64decode(sealed.split(".")[2])


@pytest.mark.parametrize("elsewhere", [b"8 https://api.example.org:443", b"7 https://api.example.net:443", b""])
def test_another_endpoint_or_origin_does_not_open_it(elsewhere: bytes) -> None:
    sealed = seal("sk-secret", secrets=[OLD], context=HERE)
    with pytest.raises(SealError, match="belongs to another endpoint or address"):
        unseal(sealed, secrets=[OLD], context=elsewhere)


def test_a_missing_secret_is_named_only_by_its_id() -> None:
    sealed = seal("sk-secret", secrets=[OLD], context=HERE)
    with pytest.raises(SealError) as caught:
        unseal(sealed, secrets=[NEW], context=HERE)
    assert sealed.split(".")[1] in str(caught.value)
    assert OLD not in str(caught.value)


@pytest.mark.parametrize("form", ["", "x", "2.a.b", "1..", "1.abc", "sk-secret"])
def test_an_unknown_format_is_refused(form: str) -> None:
    with pytest.raises(SealError, match="format that this version does not know"):
        unseal(form, secrets=[OLD], context=HERE)


def test_a_changed_text_is_refused() -> None:
    head, _, box = seal("sk-secret", secrets=[OLD], context=HERE).rpartition(".")
    for changed in (f"{head}.{'A' * len(box)}", f"{head}.AAAA", f"{head}.=", f"{head}.\N{GREEK SMALL LETTER ALPHA}"):
        with pytest.raises(SealError, match="cannot be opened"):
            unseal(changed, secrets=[OLD], context=HERE)
