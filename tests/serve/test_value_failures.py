"""What queries of the server could not compute is in its metrics."""

from __future__ import annotations

from pathlib import Path

from tests.serve.clients import CARS, TIMED, process, until

DATATYPE = "http://w3id.org/rsp/rspu#distribution"
TEXT = f"""
PREFIX rspu: <http://w3id.org/rsp/rspu#>
SELECT ?s FROM STREAM <{CARS}> [RANGE 1s STEP 1s]
{{ ?s <x:is> ?d FILTER(rspu:lessThan(?d, 5) > 0.5) }}
"""


def test_values_that_cannot_be_read_are_metrics(tmp_path: Path) -> None:
    with process(tmp_path) as server, server.client() as client:
        client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
        answer = client.post("/queries", json={"text": TEXT, "name": "q"})
        assert answer.status_code == 201, answer.text
        assert "headrace_value_failures_total" not in client.get("/metrics").text
        for time in (100, 2_500):
            line = f'{time}\t<x:s> <x:is> "N(1)"^^<{DATATYPE}> .\n'
            headers = {"Content-Type": TIMED}
            pushed = client.post("/streams/cars", content=line, headers=headers)
            assert pushed.is_success, pushed.text
        labels = f'query="q",cause="value",subject="{DATATYPE}"'
        said = f"headrace_value_failures_total{{{labels}}} 1\n"
        assert until(lambda: said in client.get("/metrics").text)


def test_a_constant_that_never_has_a_value_is_refused(tmp_path: Path) -> None:
    with process(tmp_path) as server, server.client() as client:
        client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
        text = TEXT.replace("rspu:lessThan(?d, 5)", "rspu:between(?d, 5, 2)")
        answer = client.post("/queries", json={"text": text, "name": "q"})
        assert answer.status_code == 422
        assert "the lower limit 5.0 is above the upper limit 2.0" in answer.text
