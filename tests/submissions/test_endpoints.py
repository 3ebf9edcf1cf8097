"""Registering, changing and deleting endpoints and their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evaluator.enums import GenerationState
from evaluator.models import Generation
from submissions.domain import endpoints
from submissions.domain.audit import history
from submissions.enums import EndpointCheck, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError, WrongStateError
from submissions.models import AuditEvent, Endpoint
from tests.submissions.endpoints.factories import DESCRIBED, KEY, EndpointFactory
from tests.submissions.factories import SubmissionFactory

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.models import JudgeConfig
    from submissions.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint(alice: User) -> Endpoint:
    """Alice's endpoint, with a key, and tested."""
    made = endpoints.add(owner=alice, described=DESCRIBED, key=KEY)
    Endpoint.objects.update(check_state=EndpointCheck.OK, check_message="It answers.")
    made.refresh_from_db()
    return made


def verbs(endpoint: Endpoint) -> list[str]:
    return [event.verb for event in history(endpoint)][::-1]


def generation(endpoint: Endpoint, state: str) -> Generation:
    submission = SubmissionFactory(owner=endpoint.owner)
    return Generation.objects.create(submission=submission, endpoint=endpoint, prompt_version="1", state=state)


def judge(endpoint: Endpoint, *, active: bool = True) -> JudgeConfig:
    facts = {"provider": "openai", "api": "chat", "base_url": endpoint.base_url, "model": "m", "active": active}
    hashes = {"prompt_version": "1", "prompt_hash": "p", "schema_hash": "s", "sdk": "openai 3", "digest": "d"}
    made: JudgeConfig = endpoint.judges.create(slug="strict", name="Strict judge", **facts, **hashes)
    return made


def test_adding_stores_the_fields_and_seals_the_key(endpoint: Endpoint, alice: User) -> None:
    assert {name: getattr(endpoint, name) for name in DESCRIBED} == DESCRIBED
    assert (endpoint.owner, endpoint.has_key, endpoints.key_of(endpoint)) == (alice, True, KEY)
    assert KEY not in endpoint.sealed_key
    assert verbs(endpoint) == [Verb.ENDPOINT_ADDED, Verb.KEY_STORED]


def test_no_event_or_representation_contains_the_key(endpoint: Endpoint, alice: User) -> None:
    endpoints.change(endpoint=endpoint, actor=alice, described={}, key=KEY + "2")
    endpoints.change(endpoint=endpoint, actor=alice, described={"base_url": "https://other.example"}, key=KEY + "3")
    endpoints.forget_key(endpoint=endpoint, actor=alice)
    endpoints.delete(endpoint=endpoint, actor=alice)
    texts = [repr(event.__dict__) for event in AuditEvent.objects.all()]
    assert len(texts) == 8
    assert not [text for text in texts if KEY in text or "sealed" in text]
    assert KEY not in repr(endpoint) + str(endpoint)


@pytest.mark.both_databases
def test_names_are_unique_per_owner(endpoint: Endpoint, alice: User, bob: User) -> None:
    with pytest.raises(NotAllowedError, match="another endpoint called Alpha"):
        endpoints.add(owner=alice, described=DESCRIBED)
    endpoints.add(owner=bob, described=DESCRIBED)
    other = EndpointFactory(owner=alice)
    with pytest.raises(NotAllowedError, match="another endpoint called Alpha"):
        endpoints.change(endpoint=other, actor=alice, described={"name": "Alpha"})


def test_a_wrong_address_is_refused(alice: User, endpoint: Endpoint) -> None:
    with pytest.raises(NotAllowedError, match="begins with https://"):
        endpoints.add(owner=alice, described={**DESCRIBED, "name": "x", "base_url": "ftp://x"})


@pytest.mark.both_databases
def test_each_user_has_a_limit(alice: User, bob: User) -> None:
    EndpointFactory.create_batch(endpoints.MOST_ENDPOINTS, owner=alice)
    with pytest.raises(QuotaExceededError, match="You have 20 endpoints"):
        endpoints.add(owner=alice, described=DESCRIBED)
    endpoints.add(owner=bob, described=DESCRIBED)


def test_others_cannot_see_or_change_an_endpoint(endpoint: Endpoint, alice: User, bob: User, maintainer: User) -> None:
    assert [list(endpoints.visible_to(user)) for user in (alice, bob, maintainer)] == [[endpoint], [], []]
    for actor in (bob, maintainer):
        acts: list[tuple[Any, dict[str, Any]]] = [
            (endpoints.change, {"described": {"name": "Mine"}}),
            (endpoints.forget_key, {}),
            (endpoints.delete, {}),
        ]
        for act, options in acts:
            with pytest.raises(
                NotAllowedError, match="Only the owner of an endpoint, or members of its team, may change it"
            ):
                act(endpoint=endpoint, actor=actor, **options)
    endpoint.refresh_from_db()
    assert (endpoint.name, endpoints.key_of(endpoint)) == ("Alpha", KEY)


@pytest.mark.parametrize(
    ("base_url", "kept"),
    [
        ("https://API.example.org:443/v2", True),
        ("http://api.example.org/v1", False),
        ("https://api.example.net/v1", False),
        ("https://api.example.org:8443/v1", False),
    ],
)
def test_a_key_stays_with_its_origin(endpoint: Endpoint, alice: User, base_url: str, kept: bool) -> None:
    erased = endpoints.change(endpoint=endpoint, actor=alice, described={"base_url": base_url})
    assert (erased, endpoint.has_key, endpoints.key_of(endpoint)) == (not kept, kept, KEY if kept else "")
    assert verbs(endpoint)[2:] == [Verb.ENDPOINT_CHANGED] + ([] if kept else [Verb.KEY_FORGOTTEN])


def test_another_origin_with_a_new_key_stores_it(endpoint: Endpoint, alice: User) -> None:
    described = {"base_url": "https://api.example.net"}
    assert not endpoints.change(endpoint=endpoint, actor=alice, described=described, key="sk-new")
    assert endpoints.key_of(endpoint) == "sk-new"


def test_a_key_that_is_moved_to_another_address_in_the_database_does_not_open(endpoint: Endpoint) -> None:
    Endpoint.objects.update(base_url="https://evil.example")
    endpoint.refresh_from_db()
    with pytest.raises(endpoints.KeyLostError, match="Store the key again"):
        endpoints.key_of(endpoint)


@pytest.mark.parametrize(
    ("described", "state"),
    [
        ({"model": "alpha-3"}, EndpointCheck.NONE),
        ({"base_url": "https://api.example.org/v2"}, EndpointCheck.NONE),
        ({"name": "Beta", "run_seconds": 60}, EndpointCheck.OK),
    ],
)
def test_changing_an_endpoint_invalidates_its_test(
    endpoint: Endpoint, alice: User, described: dict[str, object], state: str
) -> None:
    endpoints.change(endpoint=endpoint, actor=alice, described=described)
    assert endpoint.check_state == state


def test_the_key_is_deleted_after_the_last_run(endpoint: Endpoint) -> None:
    generation(endpoint, GenerationState.DONE)
    generation(endpoint, GenerationState.CANCELLED)
    assert endpoints.forget_after_run(endpoint)
    endpoint.refresh_from_db()
    event = history(endpoint)[0]
    assert (endpoint.has_key, event.actor, event.reason) == (False, None, "its last run has ended")
    assert not endpoints.forget_after_run(endpoint)


@pytest.mark.parametrize("state", [GenerationState.RUNNING, GenerationState.PAUSED, GenerationState.HELD])
@pytest.mark.both_databases
def test_while_a_run_is_open_the_key_stays(endpoint: Endpoint, state: GenerationState) -> None:
    generation(endpoint, state)
    assert not endpoints.forget_after_run(endpoint)


def test_a_kept_or_used_key_stays(endpoint: Endpoint) -> None:
    config = judge(endpoint)
    assert not endpoints.forget_after_run(endpoint)
    config.delete()
    Endpoint.objects.update(keep_key=True)
    assert not endpoints.forget_after_run(endpoint)
    endpoint.refresh_from_db()
    assert endpoints.key_of(endpoint) == KEY


def test_deleting_keeps_the_runs(endpoint: Endpoint, alice: User) -> None:
    run = generation(endpoint, GenerationState.DONE)
    judge(endpoint, active=False)
    endpoints.delete(endpoint=Endpoint.objects.get(pk=endpoint.pk), actor=alice)
    run.refresh_from_db()
    assert (Endpoint.objects.count(), run.endpoint) == (0, None)
    assert verbs(endpoint)[-1] == Verb.ENDPOINT_DELETED
    with pytest.raises(WrongStateError, match="deleted already"):
        endpoints.delete(endpoint=endpoint, actor=alice)


def test_an_endpoint_in_use_is_not_deleted(endpoint: Endpoint, alice: User) -> None:
    config = judge(endpoint)
    with pytest.raises(NotAllowedError, match="These judges use this endpoint: Strict judge"):
        endpoints.delete(endpoint=endpoint, actor=alice)
    config.delete()
    run = generation(endpoint, GenerationState.PAUSED)
    with pytest.raises(NotAllowedError, match=f"submission {run.submission_id}"):
        endpoints.delete(endpoint=endpoint, actor=alice)


def test_the_secret_is_created_once_and_only_its_owner_can_read_it(
    endpoint: Endpoint, alice: User, data_dir: Path
) -> None:
    file = data_dir / "endpoint_key"
    before = file.read_text()
    endpoints.change(endpoint=endpoint, actor=alice, described={}, key="sk-2")
    assert (file.read_text(), file.stat().st_mode & 0o777, len(before) >= 60) == (before, 0o600, True)
    assert [path.name for path in data_dir.iterdir() if "endpoint" in path.name] == ["endpoint_key"]
