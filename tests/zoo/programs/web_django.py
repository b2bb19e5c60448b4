# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Django in one file; run by itself: manage.py's arguments."""
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

import work

settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="zoo", ALLOWED_HOSTS=["*"])


def index(request):
    return HttpResponse(work.handle())


urlpatterns = [path("", index)]

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
else:
    application = get_wsgi_application()
