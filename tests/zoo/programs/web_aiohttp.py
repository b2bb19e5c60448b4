# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""aiohttp's server: PORT."""
import sys

from aiohttp import web

import work


async def index(request):
    return web.Response(text=work.handle())


application = web.Application()
application.router.add_get("/", index)
web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), print=None)
