"""A real Redis on a free port of the loopback address, with a password."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sandbox.cluster import certificates
from sandbox.cluster.programs import free_ports
from tools import build

PASSWORD = "p@ss:word/of-the-tests"  # noqa: S105
_START_SECONDS = 10.0


@dataclass(slots=True)
class RedisServer:
    """``url_file`` holds its URL, with the password."""

    folder: Path
    port: int
    url_file: Path
    tls: bool = False
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        program = build.ensure("redis-server")
        command: list[str | Path] = [
            program, "--port", str(self.port), "--bind", "127.0.0.1", "--requirepass", PASSWORD, "--save", "",
            "--appendonly", "no", "--dir", self.folder, "--logfile", self.folder / "redis.log",
        ]  # fmt: skip
        if self.tls:
            authority = certificates.authority()
            ca, _ = authority.write(self.folder, "ca")
            certificate, key = certificates.issue(authority).write(self.folder, "redis")
            command += ["--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "no"]
            command += ["--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", ca]
        environ = {**os.environ, "LD_LIBRARY_PATH": str(program.parent)}
        self.process = subprocess.Popen([str(part) for part in command], env=environ, stdout=subprocess.DEVNULL)
        ends = time.monotonic() + _START_SECONDS
        while time.monotonic() < ends:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError("Redis did not start")

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """It accepts connections and answers nothing."""
        if self.process is None:
            raise AssertionError("it does not run")
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    async def ask(self, *words: str) -> str:
        """Its answer to a command, as it is written on the wire."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for command in (("AUTH", PASSWORD), words):
                parts = [f"*{len(command)}\r\n", *(f"${len(word.encode())}\r\n{word}\r\n" for word in command)]
                writer.write("".join(parts).encode())
            await writer.drain()
            await reader.readline()
            return (await reader.read(100_000)).decode()
        finally:
            writer.close()
            await writer.wait_closed()


@contextmanager
def running(folder: Path, *, tls: bool = False) -> Iterator[RedisServer]:
    """A server, until the end of the ``with``."""
    (port,) = free_ports(1)
    url_file = folder / "url"
    end = f"?ssl_ca_certs={folder}/ca.crt" if tls else ""
    url_file.write_text(f"redis{'s' if tls else ''}://:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/0{end}\n")
    server = RedisServer(folder, port, url_file, tls)
    try:
        server.start()
        yield server
    finally:
        server.kill()
