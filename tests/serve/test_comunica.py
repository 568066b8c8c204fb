"""Comunica asks `/sparql`, as a SPARQL endpoint and as a source whose kind it finds out."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.serve.clients import process

PACKAGE = "@comunica/query-sparql@4"
SCRIPT = """
const { QueryEngine } = require('@comunica/query-sparql');
(async () => {
  const engine = new QueryEngine();
  const url = process.argv[2];
  for (const source of [{ type: 'sparql', value: url }, url]) {
    const text = 'SELECT ?s ?o WHERE { ?s <x:p> ?o } ORDER BY ?s';
    const stream = await engine.queryBindings(text, { sources: [source] });
    const rows = await stream.toArray();
    console.log(JSON.stringify(rows.map(each => each.get('o').value)));
  }
})();
"""


@pytest.mark.long
def test_comunica_asks(tmp_path: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("there is no node here")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(tmp_path), PACKAGE]
    installed = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if installed.returncode != 0:
        pytest.skip(f"npm cannot bring Comunica: {installed.stderr[-200:]}")
    script = tmp_path / "ask.js"
    script.write_text(SCRIPT)
    with process(tmp_path) as server, server.client() as client:
        turtle = {"Content-Type": "text/turtle"}
        data = "<x:a> <x:p> 'one' . <x:b> <x:p> 'two' ."
        client.put("/store?default", content=data, headers=turtle).raise_for_status()
        asked = subprocess.run(
            [node, str(script), f"{server.url}/sparql"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert asked.returncode == 0, asked.stderr
    assert [json.loads(line) for line in asked.stdout.splitlines()] == [["one", "two"]] * 2
