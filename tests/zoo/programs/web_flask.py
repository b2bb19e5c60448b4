# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Flask with a template."""
from flask import Flask, render_template_string

import work

application = Flask(__name__)


@application.route("/")
def index():
    return render_template_string("<p>{{ said }}</p>", said=work.handle())
