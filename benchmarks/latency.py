"""A TCP proxy that adds latency to a local server. Arguments: ``PORT MILLISECONDS``.

Each chunk of data is delayed by half the round trip, and each new connection by a whole one. Prints its own port, then
forwards until it is stopped. It is a separate process, so that its cost is not counted as the client's.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

_CHUNK = 65536


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    """Forward each chunk ``delay`` seconds after it arrived; a queue keeps chunks from delaying one another."""
    chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    async def write() -> None:
        while True:
            due, chunk = await chunks.get()
            await asyncio.sleep(due - loop.time())
            if not chunk:
                return
            writer.write(chunk)
            await writer.drain()

    writing = asyncio.create_task(write())
    with contextlib.suppress(ConnectionError):
        while chunk := await reader.read(_CHUNK):
            chunks.put_nowait((loop.time() + delay, chunk))
    chunks.put_nowait((loop.time() + delay, b""))
    with contextlib.suppress(ConnectionError):
        await writing
    writer.close()


async def _serve(port: int, round_trip: float) -> None:
    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(round_trip)  # SYN and SYN-ACK
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pump(reader, inner_writer, round_trip / 2), _pump(inner_reader, writer, round_trip / 2))

    server = await asyncio.start_server(forward, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2]) / 1000))
