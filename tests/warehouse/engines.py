# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The engines, each with packaging/warehouse's own files: an engine has load(directory) and
run(query, parameters), which returns rows as tuples."""
import contextlib
import datetime

from paths import REPO

TOP = REPO / "packaging/warehouse"
QUERIES = ("top_functions", "weeks", "versions", "cost", "regressions")


def text(engine, name):
    return (TOP / engine / f"{name}.sql").read_text(encoding="utf-8")


class DuckDB:
    name = "duckdb"

    def __init__(self, place):
        import duckdb
        self.connection = duckdb.connect()

    def set(self, **variables):
        for name, value in variables.items():
            quoted = str(value).replace("'", "''")
            self.connection.execute(f"SET VARIABLE {name} = " + (f"'{quoted}'" if not isinstance(value, (int, float)) else quoted))

    def load(self, directory):
        self.set(parquet=directory)
        self.connection.execute(text(self.name, "samples"))

    def run(self, query, parameters):
        self.set(**parameters)
        return self.connection.execute(text(self.name, query)).fetchall()

    def close(self):
        self.connection.close()


class ClickHouse:
    name = "clickhouse"

    def __init__(self, place):
        from chdb import session
        self.session = session.Session(str(place / "clickhouse"))
        self.session.query("CREATE DATABASE IF NOT EXISTS profiles ENGINE = Atomic")
        self.session.query("USE profiles")
        self.session.query("DROP TABLE IF EXISTS samples SYNC")

    def query(self, sql, **parameters):
        import json
        lines = self.session.query(sql, "JSONCompactEachRow", params=parameters).bytes().decode().splitlines()
        return [tuple(json.loads(line)) for line in lines]

    def load(self, directory):
        self.query(text(self.name, "table"))
        self.query(text(self.name, "insert"), parquet=f"{directory}/*/*/*.parquet")

    def run(self, query, parameters):
        return self.query(text(self.name, query), **{name: str(value) for name, value in parameters.items()})

    def bytes(self):
        return self.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE table = 'samples' AND active")[0][0]

    def close(self):
        self.session.close()


class Spark:
    name = "spark"

    def __init__(self, place):
        from pyspark.sql import SparkSession
        settings = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.showConsoleProgress": "false",
                    "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4", "spark.driver.memory": "3g",
                    "spark.log.level": "ERROR", "spark.local.dir": str(place), "spark.sql.warehouse.dir": str(place)}
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()

    def load(self, directory):
        self.session.sql(text(self.name, "samples").replace("${parquet}", str(directory)).rstrip("; \n"))

    def run(self, query, parameters):
        given = {name: str(value) if isinstance(value, datetime.date) else value for name, value in parameters.items()}
        return [tuple(row) for row in self.session.sql(text(self.name, query).rstrip("; \n"), args=given).collect()]

    def close(self):
        self.session.stop()


@contextlib.contextmanager
def loaded(engine, directory, place):
    """An engine with the rows of a directory."""
    place.mkdir(exist_ok=True)
    opened = engine(place)
    try:
        opened.load(directory)
        yield opened
    finally:
        opened.close()


ENGINES = (DuckDB, ClickHouse, Spark)
