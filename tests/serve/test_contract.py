"""Requests made up from the OpenAPI document: none of them is a mistake of the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from starlette.testclient import TestClient

from headrace.serve.openapi import document
from tests.serve.clients import BASE, passages, push, register, served, with_cars
from tests.serve.clients import COUNT as QUERY

SCHEMA = schemathesis.openapi.from_dict(document(BASE))
NEVER_ENDING = ("/events", "/status/events")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("contract") / "data") as found:
        with_cars(found)
        register(found, QUERY, name="gates")
        push(found, passages(0, 8))
        yield found


@SCHEMA.parametrize()
@settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_breaks_the_server(client: TestClient, case: Any) -> None:
    if case.path.endswith(NEVER_ENDING):
        return
    sent = case.as_transport_kwargs(base_url=BASE)
    headers = {
        name: value
        for name, value in (sent.get("headers") or {}).items()
        if name.lower() not in {"host", "accept-encoding"}
    }
    params = {key: value for key, value in (sent.get("params") or {}).items() if value is not None}
    answer = client.request(
        case.method,
        str(case.formatted_path),
        params=params,
        headers=headers,
        content=_content(sent),
        follow_redirects=False,
    )
    assert answer.status_code < 500 or answer.status_code == 501, answer.text


def _content(sent: dict[str, Any]) -> bytes | None:
    import json

    if "json" in sent:
        return json.dumps(sent["json"]).encode()
    data = sent.get("data")
    if data is None or isinstance(data, bytes):
        return data
    return str(data).encode(errors="replace")
