"""Fixtures for the ``conftest.py`` of any app: ``from tests.provider_server.fixtures import provider_server``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.provider_server.server import ProviderServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def provider_server() -> Iterator[ProviderServer]:
    """A provider on a free port, with an empty log."""
    with ProviderServer() as server:
        yield server
