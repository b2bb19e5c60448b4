# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What two handlers of an asyncio server do: they wait for rows from a pool of connections and use CPU.

Both share the functions in between, and each has a function of its own at the end, so a stack with
count_users() must have users() at its other end, and never orders().
"""
import asyncio
import time

CONNECTIONS = 20
CPU_S = 0.001
pool = asyncio.Semaphore(CONNECTIONS)


def use_cpu():
    end = time.thread_time() + CPU_S
    while time.thread_time() < end:
        sorted(str(i) for i in range(50))


def count_users():
    use_cpu()


def count_orders():
    use_cpu()


async def query(count, seconds):
    async with pool:
        await asyncio.sleep(seconds)
    count()


async def rows_of(count):
    await asyncio.gather(query(count, 0.002), query(count, 0.004))


async def users():
    await asyncio.wait_for(rows_of(count_users), 30)
    return "done"


async def orders():
    task = asyncio.create_task(rows_of(count_orders), name="orders")
    await asyncio.shield(task)
    return "done"
