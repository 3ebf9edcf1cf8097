"""A client of the API for tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.test import Client

from submissions.domain import tokens
from submissions.enums import Scope

if TYPE_CHECKING:
    from submissions.models import User


class Program:
    """A client of the API with a token of ``person``, or without a token."""

    def __init__(self, person: User | None = None, *scopes: str) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers: dict[str, str] = {}
        if person is not None:
            name = f"test-{person.api_tokens.count()}"
            _, secret = tokens.make(owner=person, name=name, scopes=scopes or Scope.values, days=1)
            self.headers["Authorization"] = f"Bearer {secret}"

    def send(self, method: str, path: str, data: Any = None, **options: Any) -> Any:
        """Send a request and return the response."""
        if data is not None:
            options |= {"data": json.dumps(data), "content_type": "application/json"}
        return self.client.generic(
            method, f"/api/v1{path}", headers=self.headers | options.pop("headers", {}), **options
        )

    def get(self, path: str, **options: Any) -> Any:
        """Return the data of a response with status 200."""
        response = self.send("GET", path, **options)
        assert response.status_code == 200, response.content
        return response.json()

    def post(self, path: str, data: Any = None, *, status: int = 200) -> Any:
        """Return the data of a response with ``status``."""
        response = self.send("POST", path, data)
        assert response.status_code == status, response.content
        return response.json()

    def upload(self, content: Any, *, status: int = 201, **fields: Any) -> Any:
        """Upload a file and return the data of the response."""
        response = self.client.post("/api/v1/uploads", {"file": content, **fields}, headers=self.headers)
        assert response.status_code == status, response.content
        return response.json()

    def problem(self, method: str, path: str, data: Any = None, **options: Any) -> dict[str, Any]:
        """Check that the response is a well-formed problem and return its members."""
        response = self.send(method, path, data, **options)
        assert response.headers["Content-Type"] == "application/problem+json", response.content
        problem: dict[str, Any] = response.json()
        assert problem["status"] == response.status_code
        assert problem["type"].startswith("/docs/api/#")
        assert problem["title"]
        assert problem["detail"]
        return problem
