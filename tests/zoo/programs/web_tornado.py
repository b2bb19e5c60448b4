# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tornado: PORT."""
import asyncio
import sys

from tornado import web

import work


class Index(web.RequestHandler):
    async def get(self):
        self.write(work.handle())


async def main():
    web.Application([("/", Index)]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


asyncio.run(main())
