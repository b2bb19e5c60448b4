# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Starlette."""
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import work


async def index(request):
    return PlainTextResponse(work.handle())


application = Starlette(routes=[Route("/", index)])
