"""The key is in the request's header and nowhere else."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

import pytest

from evaluator.providers import faults, sdk_client
from evaluator.providers.types import ProviderFault
from tests.evaluator.providers.conftest import KEY, QUESTION

if TYPE_CHECKING:
    from tests.evaluator.providers.conftest import Connect
    from tests.provider_server import ProviderServer


@pytest.mark.parametrize("model", ["right", "wrong-key", "rejects", "breaks", "malformed", "redirect"])
def test_the_key_is_in_no_log_error_or_representation(
    model: str,
    api: str,
    client_of: Connect,
    provider_server: ProviderServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name in (None, *sdk_client.LOGGERS):
        caplog.set_level(logging.DEBUG, logger=name)
    client = client_of(api, model)
    body = client.body(QUESTION)
    said = [repr(client), repr(body)]
    if model == "right":
        said.append(repr(client.send(body)))
    else:
        with pytest.raises(ProviderFault) as raised:
            client.send(body)
        fault = raised.value
        assert (fault.__cause__, fault.__context__) == (None, None)
        said += [repr(fault), str(vars(fault)), "".join(traceback.format_exception(fault))]
    shown = "\n".join([*said, caplog.text, *capfd.readouterr()])
    assert not faults.quotes(shown.replace("sk-test", ""), KEY)
    assert "tagger" not in caplog.text, "no body in the logs"
    assert not [record for record in caplog.records if record.name.startswith(("openai", "anthropic", "http"))]
    assert provider_server.log[0].key == KEY


def test_the_sdks_never_see_the_key(api: str, client_of: Connect) -> None:
    client = client_of(api, "right")
    client.send(client.body(QUESTION))
    sdk = client._sdk  # type: ignore[attr-defined]
    assert sdk.api_key == "put-on-later"
    assert KEY not in str({**sdk.auth_headers, **sdk.default_headers})


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "sk-\u00e4"])
def test_a_key_that_is_no_header_is_refused_before_anything_is_sent(
    key: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    client = client_of("chat", "right", key=key)
    with pytest.raises(ProviderFault) as raised:
        client.send(client.body(QUESTION))
    assert raised.value.message == "The key holds characters that no key has, such as spaces. Enter it again."
    assert provider_server.log == []


def test_request_ids_that_quote_the_key_are_dropped() -> None:
    assert faults.request_id({"x-request-id": "req_1"}, key=KEY) == "req_1"
    assert faults.request_id({"request-id": "req_2"}, key=KEY) == "req_2"
    assert faults.request_id({"x-request-id": f"req_{KEY[3:12]}"}, key=KEY) == ""
    assert faults.request_id({"x-request-id": "a b"}, key=KEY) == ""
    assert faults.request_id({}, key="") == ""
