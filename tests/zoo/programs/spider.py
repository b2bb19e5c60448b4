# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Scrapy: 120 pages, each of them in its own address."""
import scrapy

import work


class Spider(scrapy.Spider):
    name = "zoo"
    start_urls = ["data:text/html,<p>%d</p>" % i for i in range(120)]
    custom_settings = {"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False}

    def parse(self, response):
        work.handle()
        return {"said": response.css("p::text").get()}
