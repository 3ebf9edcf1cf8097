"""Factory of model endpoints for all tests."""

from __future__ import annotations

import factory

from submissions.enums import Api, Provider
from submissions.models import Endpoint
from tests.numbering import numbered
from tests.submissions.factories import UserFactory

DESCRIBED = {
    "name": "Alpha",
    "provider": Provider.OPENAI.value,
    "api": Api.CHAT.value,
    "base_url": "https://api.example.org/v1",
    "model": "alpha-2-2026-01",
    "keep_key": False,
}
KEY = "sk-alpha-0123456789"


class EndpointFactory(factory.django.DjangoModelFactory):
    """An endpoint without a key; ``submissions.domain.endpoints.change`` gives it one."""

    class Meta:
        model = Endpoint

    owner = factory.SubFactory(UserFactory)
    name = numbered("endpoint-")
    provider = Provider.OPENAI
    api = Api.CHAT
    base_url = "https://api.example.org/v1"
    model = "alpha-2-2026-01"
