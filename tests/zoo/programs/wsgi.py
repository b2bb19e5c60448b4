# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A WSGI application, for servers; run by itself: SERVER PORT."""
import sys

import work


def application(environ, start_response):
    body = work.handle().encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


def serve_gevent(port):
    from gevent import monkey
    monkey.patch_all()
    from gevent.pywsgi import WSGIServer
    WSGIServer(("127.0.0.1", port), application, log=None).serve_forever()


def serve_eventlet(port):
    import eventlet
    from eventlet import wsgi
    eventlet.monkey_patch()
    wsgi.server(eventlet.listen(("127.0.0.1", port)), application, log_output=False)


def serve_waitress(port):
    import waitress
    waitress.serve(application, host="127.0.0.1", port=port, threads=4)


def serve_cheroot(port):
    from cheroot.wsgi import Server
    Server(("127.0.0.1", port), application, numthreads=4).start()


def serve_bjoern(port):
    import bjoern
    bjoern.run(application, "127.0.0.1", port)


if __name__ == "__main__":
    globals()["serve_" + sys.argv[1]](int(sys.argv[2]))
