# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""100 clients of an asyncio server, each with one connection: PORT PATH...; until they are ended.

Prints "ready" once each has had an answer.
"""
import asyncio
import sys

CLIENTS = 100


async def client(port, path, answered):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200"), head
        body = head.partition(b"content-length:")
        if body[2]:
            await reader.readexactly(int(body[2].split(b"\r\n")[0]))
        else:                           # in pieces, the last one is empty
            while await reader.readuntil(b"\r\n") != b"0\r\n":
                await reader.readuntil(b"\r\n")
            await reader.readuntil(b"\r\n")
        answered.release()
        await asyncio.sleep(0.02)


async def main(port, *paths):
    answered = asyncio.Semaphore(0)
    clients = [asyncio.ensure_future(client(int(port), paths[i % len(paths)], answered))
               for i in range(CLIENTS)]
    for _ in range(CLIENTS):
        await answered.acquire()
    print("ready", flush=True)
    await asyncio.gather(*clients)

asyncio.run(main(*sys.argv[1:]))
