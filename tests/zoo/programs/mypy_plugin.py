# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A plugin of mypy, which is itself compiled by mypyc: called for each call that is checked."""
import work
from mypy.plugin import Plugin


class Zoo(Plugin):
    def get_function_hook(self, fullname):
        return self.called if fullname.endswith(".checked") else None

    def called(self, context):
        work.handle()
        return context.default_return_type


def plugin(version):
    return Zoo
