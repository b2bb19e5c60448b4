# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Twisted: PORT."""
import sys

from twisted.internet import reactor
from twisted.web import resource, server

import work


class Index(resource.Resource):
    isLeaf = True

    def render_GET(self, request):
        return work.handle().encode()


reactor.listenTCP(int(sys.argv[1]), server.Site(Index()), interface="127.0.0.1")
reactor.run()
