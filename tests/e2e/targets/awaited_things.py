# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""awaited_things.py TRUTH [pure]: tasks that wait for one thing each: locks, queues, events, sockets, subprocesses.

Writes {function: what it waits for} for the functions in WAITS, then says "ready". With "pure" asyncio has no C module.
"""
import concurrent.futures
import json
import socket
import sys
import threading

if "pure" in sys.argv:
    sys.modules["_asyncio"] = None

import asyncio  # noqa: E402

LONG = 100000
CONCURRENT = "a concurrent.futures.Future"
WAITS = {
    "get": "Queue self.jobs", "put": "room in Queue self.full", "join": "the end of Queue self.full",
    "want": "Lock self.lock", "want_sub": "Lock self.special", "want_sem": "Semaphore self.sem",
    "want_bounded": "Semaphore bounded", "event": "Event self.ready", "condition": "Condition self.cond",
    "timed": "Queue timed", "local": "Event gate", "inner": "Queue shared", "glob": "Queue EVERYONES",
    "read": "a socket 127.0.0.1:{port}", "receive": "a socket 127.0.0.1:{port}", "served": "a socket 127.0.0.1",
    "want_of": "Lock app.lock", "child": "a process", "hold": "", "cls": "Event self.of_class",
    "future": "", "called": "", "executor": CONCURRENT, "wrapped": CONCURRENT, "elsewhere": CONCURRENT, "beyond": "", "pooled": CONCURRENT,
    "resolved": CONCURRENT, "shielded": "", "gathered": "", "waited": "",
    "limited": CONCURRENT if sys.version_info >= (3, 12) else "",
}
if hasattr(asyncio, "to_thread"):
    WAITS["threaded"] = "a function in a thread"
EVERYONES = None
POOL = concurrent.futures.ThreadPoolExecutor(1)


class Special(asyncio.Lock):
    pass


class App:
    def __init__(self):
        self.jobs, self.full = asyncio.Queue(), asyncio.PriorityQueue(1)
        self.lock, self.special, self.sem = asyncio.Lock(), Special(), asyncio.Semaphore(1)
        self.ready, self.cond, self.of_class = asyncio.Event(), asyncio.Condition(), asyncio.Event()

    async def get(self):
        await self.jobs.get()

    async def put(self):
        await self.full.put(1)
        await self.full.put(2)

    async def join(self):
        await self.full.join()

    async def hold(self):
        async with self.lock, self.special, self.sem:
            await asyncio.sleep(LONG)

    async def want(self):
        async with self.lock:
            pass

    async def want_sub(self):
        await self.special.acquire()

    async def want_sem(self):
        async with self.sem:
            pass

    async def want_bounded(self):
        bounded = asyncio.BoundedSemaphore(1)
        await bounded.acquire()
        await bounded.acquire()

    async def event(self):
        await self.ready.wait()

    async def cls(self):
        await self.of_class.wait()

    async def condition(self):
        async with self.cond:
            await self.cond.wait()

    async def timed(self):
        timed = asyncio.Queue()
        get = timed.get()
        await get

    async def local(self):
        gate = asyncio.Event()
        await gate.wait()

    async def cell(self):
        shared = asyncio.Queue()

        async def inner():
            await shared.get()
        await asyncio.ensure_future(inner())

    async def glob(self):
        await EVERYONES.get()

    async def read(self):
        reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        await reader.readline()

    async def receive(self):
        self.raw = socket.create_connection(("127.0.0.1", self.port))
        self.raw.setblocking(False)
        await asyncio.get_event_loop().sock_recv(self.raw, 10)

    async def child(self):
        self.process = await asyncio.create_subprocess_exec("sleep", str(LONG))
        await self.process.wait()

    async def threaded(self):
        await asyncio.to_thread(threading.Event().wait)

    async def future(self):
        await asyncio.get_event_loop().create_future()

    async def called(self):
        def _call_check_cancel(destination):
            pass
        future = asyncio.get_event_loop().create_future()
        future.add_done_callback(_call_check_cancel)
        await future

    async def executor(self):
        await asyncio.get_event_loop().run_in_executor(None, threading.Event().wait)

    async def pooled(self):
        future = asyncio.get_event_loop().run_in_executor(POOL, threading.Event().wait)
        future.add_done_callback(print)
        await future

    async def wrapped(self):
        await asyncio.wrap_future(concurrent.futures.Future())

    async def elsewhere(self):
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.beyond(), loop))

    async def beyond(self):
        await asyncio.sleep(LONG)

    async def resolved(self):
        # asyncio's own coroutine awaits a future of the pool, whose only thread is busy.
        loop = asyncio.get_event_loop()
        loop.set_default_executor(POOL)
        await loop.getaddrinfo("localhost", 80)

    async def gathered(self):
        await asyncio.gather(asyncio.wrap_future(concurrent.futures.Future()))

    async def waited(self):
        await asyncio.wait([asyncio.wrap_future(concurrent.futures.Future())])

    async def limited(self):
        await asyncio.wait_for(asyncio.wrap_future(concurrent.futures.Future()), LONG)

    async def shielded(self):
        await asyncio.shield(asyncio.wrap_future(concurrent.futures.Future()))


async def want_of(app):
    await app.lock.acquire()


async def served(reader, writer):
    await reader.readline()


async def main(truth):
    global EVERYONES
    EVERYONES = asyncio.Queue()
    app = App()
    server = await asyncio.start_server(served, "127.0.0.1", 0)
    app.port = server.sockets[0].getsockname()[1]
    names = ["hold"] + [name for name in WAITS if name not in ("hold", "inner", "served", "want_of", "beyond")] + ["cell"]
    tasks = [asyncio.ensure_future(getattr(app, name)()) for name in names]
    tasks.append(asyncio.ensure_future(want_of(app)))
    while not (hasattr(app, "writer") and hasattr(app, "raw") and hasattr(app, "process")):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    sockets = {"read": app.writer.get_extra_info("socket").fileno(), "receive": app.raw.fileno()}
    clients = ["%s:%d" % end.getsockname() for end in (app.writer.get_extra_info("socket"), app.raw)]
    with open(truth, "w", encoding="utf-8") as out:
        json.dump({"waits": {name: what.format(port=app.port) for name, what in WAITS.items()}, "sockets": sockets,
                   "port": app.port, "clients": clients}, out)
    print("ready", flush=True)
    try:
        await asyncio.gather(*tasks)
    finally:
        app.process.kill()


asyncio.run(main(sys.argv[1]))
