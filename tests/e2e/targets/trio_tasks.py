# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""trio_tasks.py HOW SECONDS: tasks of trio that use the CPU, in nurseries. Says "ready" when they run.

HOW: nested (a task below a task), both (asyncio in another thread, too), late (trio is imported after
"ready").
"""
import sys
import threading
import time
import types

try:
    import ssl      # noqa: F401
except ImportError:
    class NoSSL(types.ModuleType):
        """For interpreters that were built without: trio wants names of it, no more."""

        def __getattr__(self, name):
            return type(name, (Exception,), {"__module__": "ssl"})

    sys.modules["ssl"] = NoSSL("ssl")

HOW, SECONDS = sys.argv[1], float(sys.argv[2])


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def fetch():
    while True:
        burn(0.01)
        await trio.sleep(0)


async def handle():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fetch)
        nursery.start_soon(fetch)


async def main():
    with trio.move_on_after(SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(handle)
            if HOW != "late":
                print("ready", flush=True)


async def other():
    while True:
        burn(0.01)
        await asyncio.sleep(0)


async def others():
    await asyncio.gather(other(), other())

if HOW == "late":
    print("ready", flush=True)
    burn(0.5)
if HOW == "both":
    import asyncio
    threading.Thread(target=asyncio.run, args=(others(),), daemon=True).start()
import trio  # noqa: E402
trio.run(main)
