"""Send elements and follow answers at once, by asyncio: python examples/follow_a_stream.py."""

from __future__ import annotations

import asyncio

from headrace import Engine, Query, Stream

TEMPERATURE = "<http://example.org/temperature>"
DECIMAL = "<http://www.w3.org/2001/XMLSchema#decimal>"
QUERY = """
SELECT ?sensor (MAX(?v) AS ?warmest)
WHERE { STREAM <http://example.org/readings> [RANGE 30s SLIDE 10s]
        { ?sensor <http://example.org/temperature> ?v } }
GROUP BY ?sensor
"""


async def send(stream: Stream, engine: Engine) -> None:
    """One reading every four seconds of its own time."""
    for second, degrees in enumerate([17, 19, 18, 23, 21, 16], 1):
        reading = f'<http://example.org/s1> {TEMPERATURE} "{degrees}.0"^^{DECIMAL} .'
        await stream.send(reading, at=second * 4000)
    engine.finish()


async def follow(query: Query) -> None:
    """Print what is new as it comes."""
    async for evaluation in query:
        for sensor, warmest in evaluation.rows:
            print(f"{evaluation.at // 1_000_000:3} s  {sensor}  {warmest}")


async def main() -> None:
    """Run both."""
    engine = Engine()
    stream = engine.stream("http://example.org/readings")
    query = engine.register(QUERY)
    await asyncio.gather(send(stream, engine), follow(query))


if __name__ == "__main__":
    asyncio.run(main())
