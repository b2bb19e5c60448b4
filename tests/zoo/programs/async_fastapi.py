# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""FastAPI with a middleware, whose requests are tasks of anyio's groups."""
from fastapi import FastAPI
from starlette.middleware.base import BaseHTTPMiddleware

import handlers

application = FastAPI()


async def passing(request, call_next):
    return await call_next(request)

application.add_middleware(BaseHTTPMiddleware, dispatch=passing)


@application.get("/users")
async def users() -> str:
    return await handlers.users()


@application.get("/orders")
async def orders() -> str:
    return await handlers.orders()
