"""A stored endpoint or judge in the form that pure code takes, without its key."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from evaluator.providers.types import EndpointSettings

if TYPE_CHECKING:
    from evaluator.models import JudgeConfig
    from submissions.models import Endpoint

_SETTINGS = tuple(field.name for field in fields(EndpointSettings))


def settings_of(endpoint: Endpoint | JudgeConfig) -> EndpointSettings:
    """``endpoint`` as pure code takes it, without its key."""
    return EndpointSettings.from_data({name: _plain(endpoint, name) for name in _SETTINGS if hasattr(endpoint, name)})


def _plain(endpoint: Endpoint | JudgeConfig, name: str) -> object:
    value = getattr(endpoint, name)
    return str(value) if isinstance(value, str) else value
