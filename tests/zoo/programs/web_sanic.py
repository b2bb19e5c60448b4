# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sanic in one process: PORT."""
import sys

from sanic import Sanic, text

import work

application = Sanic("zoo")


@application.get("/")
async def index(request):
    return text(work.handle())


if __name__ == "__main__":
    application.run(host="127.0.0.1", port=int(sys.argv[1]), single_process=True, access_log=False)
