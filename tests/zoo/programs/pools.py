# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Work that is given to others: a pool of processes or threads."""
import asyncio
import concurrent.futures
import multiprocessing
import sys

import work

TASKS = range(120)


def with_fork():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(work.handle, TASKS, chunksize=1)


def with_spawn():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        list(pool.map(work.handle, TASKS))


def with_forkserver():
    context = multiprocessing.get_context("forkserver")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        list(pool.map(work.handle, TASKS))


def with_threads():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(work.handle, TASKS))


def with_asyncio():
    async def task(i):
        await asyncio.sleep(0)
        return work.handle() if i % 2 else await asyncio.to_thread(work.handle)

    async def main():
        await asyncio.gather(*map(task, TASKS))
    asyncio.run(main())


def with_trio():
    import trio

    async def task():
        await trio.sleep(0)
        work.handle()

    async def main():
        async with trio.open_nursery() as nursery:
            for _ in TASKS:
                nursery.start_soon(task)
    trio.run(main)


def with_joblib():
    import joblib
    joblib.Parallel(n_jobs=2)(joblib.delayed(work.handle)(i) for i in TASKS)


def with_dask():
    import dask
    dask.compute([dask.delayed(work.handle)(i) for i in TASKS], scheduler="threads",
                 num_workers=4)


if __name__ == "__main__":
    globals()["with_" + sys.argv[1]]()
