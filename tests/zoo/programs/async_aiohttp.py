# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""aiohttp's server: PORT."""
import sys

from aiohttp import web

import handlers


async def users(request):
    return web.Response(text=await handlers.users())


async def orders(request):
    return web.Response(text=await handlers.orders())


application = web.Application()
application.router.add_get("/users", users)
application.router.add_get("/orders", orders)
web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), print=None)
