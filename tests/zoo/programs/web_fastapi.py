# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""FastAPI: one half in the event loop, one in the threads of its pool."""
from fastapi import FastAPI
from pydantic import BaseModel

import work

application = FastAPI()


class Answer(BaseModel):
    said: str


@application.get("/")
async def index() -> Answer:
    return Answer(said=work.handle())


@application.get("/pool")
def in_pool() -> Answer:
    return Answer(said=work.handle())
