#!PYTHON
"""A tap of the tables of a SQLite file, as authors write one with the Singer SDK: the SDK does all but to name it."""

import time

from singer_sdk import SQLConnector, SQLStream, SQLTap
from singer_sdk import typing as th


class Connector(SQLConnector):
    def get_sqlalchemy_url(self, config):
        return f"sqlite:///{config['path']}"


class Table(SQLStream):
    connector_class = Connector
    STATE_MSG_FREQUENCY = 7

    def get_records(self, context):
        for row in super().get_records(context):
            time.sleep(float(self.config["pause"]))
            yield row


class Tap(SQLTap):
    name = "tap-sqlite"
    default_stream_class = Table
    config_jsonschema = th.PropertiesList(
        th.Property("path", th.StringType, required=True), th.Property("pause", th.NumberType, default=0)
    ).to_dict()


if __name__ == "__main__":
    Tap.cli()
