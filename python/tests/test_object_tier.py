"""The tier in an object store, with a server of S3 on this machine."""

import logging
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import boto3
import numpy
import quiver
from both import soon
from moto.server import ThreadedMotoServer

ROWS = 4_000_000


class ObjectTier(unittest.TestCase):
    def setUp(self):
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self.server.start()
        self.addCleanup(self.server.stop)
        host, port = self.server.get_host_and_port()
        # Clients of object stores are kept for each bucket, so each test has one of its own.
        self.bucket = f"quiver-{port}"
        credentials = {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ALLOW_HTTP": "true",
        }
        self.enterContext(mock.patch.dict(os.environ, credentials))
        self.s3 = boto3.client("s3", region_name="us-east-1")
        self.s3.create_bucket(Bucket=self.bucket)
        self.store = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="quiver-test-"))) / "store"

    def files(self):
        found = self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        return [file["Key"] for file in found if file["Key"].endswith(".arrow.zst")]

    def opened(self):
        return quiver.open(self.store)

    def moved(self, con):
        con.write("t", {"a": numpy.arange(ROWS), "b": numpy.arange(ROWS) % 1000})
        con.sql(f"ALTER SYSTEM SET object_tier = 's3://{self.bucket}/cold/data'")
        con.sql("ALTER TABLE t SET TIER object")
        tiers = lambda: con.sql("SELECT DISTINCT tier FROM system.segments WHERE table_name = 't'").fetchall()  # noqa: E731
        self.assertTrue(soon(lambda: tiers() == [("object",)]), con.sql("SELECT * FROM system.moves").fetchall())

    def test_a_table_in_s3_is_read_changed_and_brought_back(self):
        with self.opened() as con:
            self.moved(con)
        self.assertEqual({key.split("/")[:2] == ["cold", "data"] for key in self.files()}, {True})
        with self.opened() as con:
            self.assertEqual(con.sql("SELECT sum(b) FROM t WHERE a BETWEEN 5 AND 9").fetchall(), [(35,)])
            self.assertEqual(con.sql("SELECT count(*), sum(a) FROM t").fetchall(), [(ROWS, ROWS * (ROWS - 1) // 2)])
            con.sql("DELETE FROM t WHERE b = 1")
            self.assertEqual(con.sql("SELECT count(*) FROM t").fetchall(), [(ROWS - ROWS // 1000,)])
            con.sql("ALTER TABLE t SET TIER pmem")
            self.assertTrue(soon(lambda: not self.files()))
            self.assertEqual(con.sql("SELECT count(b) FROM t").fetchall(), [(ROWS - ROWS // 1000,)])

    def test_a_server_that_is_gone_is_an_error_and_nothing_is_lost(self):
        with self.opened() as con:
            self.moved(con)
            con.sql("CREATE TABLE here AS SELECT 1 AS a")
        self.server.stop()
        with self.opened() as con:
            with self.assertRaisesRegex(quiver.Error, "the object store could not read"):
                con.sql("SELECT sum(a) FROM t").fetchall()
            self.assertEqual(con.sql("SELECT count(*) FROM t").fetchall(), [(ROWS,)])
            con.sql("ALTER TABLE here SET TIER object")
            failed = "SELECT DISTINCT message FROM system.moves WHERE state = 'failed' AND table_name = 'here'"
            con.sql("OPTIMIZE TABLE here")
            self.assertTrue(soon(lambda: con.sql(failed).fetchall()))
            self.assertEqual(con.sql("SELECT a FROM here").fetchall(), [(1,)])

    def test_a_bucket_that_is_not_there_is_no_tier(self):
        with self.opened() as con:
            with self.assertRaisesRegex(quiver.Error, "could not write"):
                con.sql("ALTER SYSTEM SET object_tier = 's3://nobody-has-this/data'")
            self.assertEqual(con.sql("SELECT value FROM system.settings WHERE name = 'object_tier'").fetchall(), [("",)])


if __name__ == "__main__":
    unittest.main()
