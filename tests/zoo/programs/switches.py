# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""50 greenlets that give up the CPU after each small step: gevent, eventlet or greenlet."""
import sys
import time

from truth import counted

MANY, SECONDS = 50, 3


@counted
def step():
    sum(range(3000))


def steps(pause):
    while time.process_time() < SECONDS:
        step()
        pause()


def with_gevent():
    import gevent
    gevent.joinall([gevent.spawn(steps, lambda: gevent.sleep(0)) for _ in range(MANY)])


def with_eventlet():
    import eventlet
    pool = eventlet.GreenPool(MANY)
    for _ in range(MANY):
        pool.spawn_n(steps, lambda: eventlet.sleep(0))
    pool.waitall()


def with_greenlet():
    import greenlet
    main = greenlet.getcurrent()
    others = [greenlet.greenlet(lambda: steps(main.switch)) for _ in range(MANY)]
    while not all(other.dead for other in others):
        for other in others:
            other.switch()


globals()["with_" + sys.argv[1]]()
