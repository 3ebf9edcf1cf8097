"""A local HTTP server that speaks the model providers' protocols; the model's id chooses how it behaves."""

from __future__ import annotations

from tests.provider_server.server import ProviderServer
from tests.provider_server.types import Answer, Call, Failure, Question, Received, Wire

__all__ = ["Answer", "Call", "Failure", "ProviderServer", "Question", "Received", "Wire"]
