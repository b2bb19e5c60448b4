# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""loops.py idle|blocked|task [pure|uvloop]: an event loop that waits, or that a callback or task blocks for good."""
import os
import sys

if "pure" in sys.argv:
    sys.modules["_asyncio"] = None
import asyncio  # noqa: E402

SLEEPERS, READY = 5, 57


def block(loop=None):
    if loop:        # made earlier, it could be ready in this turn
        loop.call_later(0.01, print)
    print("ready", flush=True)
    os.read(os.pipe()[0], 1)


def idle():
    print("ready", flush=True)


async def main():
    loop = asyncio.get_event_loop()
    tasks = [loop.create_task(asyncio.sleep(10000)) for _ in range(SLEEPERS)]
    await asyncio.sleep(0.1)        # they sleep; a callback of this turn is the first one
    if sys.argv[1] == "task":
        block()
    if sys.argv[1] == "blocked":
        loop.call_soon(block, loop)
        for _ in range(READY):
            loop.call_soon(print)
    else:
        loop.call_soon(idle)
    await asyncio.wait(tasks)


if "uvloop" in sys.argv:
    import uvloop
    uvloop.install()
event_loop = asyncio.new_event_loop()
asyncio.set_event_loop(event_loop)
event_loop.run_until_complete(main())
