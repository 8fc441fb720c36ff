"""A TCP proxy that makes another server on this machine as far away as one says: ``PORT MILLISECONDS`` as arguments.

Each piece of data waits half the round trip, in both directions, and a connection waits a whole one before its first.
Prints its own port, then forwards until it is stopped. It runs in a process of its own, so that what it costs is not
counted as the client's.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

_PIECE = 65536


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    """Forward, each piece ``delay`` seconds after it came; a queue keeps pieces from waiting for one another."""
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    async def write() -> None:
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(due - loop.time())
            if not piece:
                return
            writer.write(piece)
            await writer.drain()

    writing = asyncio.create_task(write())
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(_PIECE):
            pieces.put_nowait((loop.time() + delay, piece))
    pieces.put_nowait((loop.time() + delay, b""))
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
