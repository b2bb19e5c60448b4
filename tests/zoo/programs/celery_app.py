# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Celery with a broker of files; run by itself: a worker of two processes, and 120 tasks."""
import os
import signal
import subprocess
import sys

from celery import Celery, group

import work

HERE = os.path.join(os.getcwd(), "celery")
QUEUE = {"data_folder_in": HERE, "data_folder_out": HERE, "control_folder": HERE}
app = Celery("celery_app", broker="filesystem://", backend="file://" + HERE)
app.conf.broker_transport_options = QUEUE


@app.task
def task():
    return work.handle()


def main():
    from celery_app import task as known
    os.mkdir(HERE)
    worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "celery_app", "worker",
                               "--pool", "prefork", "-c", "2", "--without-gossip",
                               "--without-mingle", "--loglevel", "warning"])
    try:
        group(known.s() for _ in range(120)).apply_async().get(timeout=300, interval=0.2)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()


if __name__ == "__main__":
    main()
