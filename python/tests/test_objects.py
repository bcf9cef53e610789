"""Tags, groups and blobs from Python, in process and over the network."""

import datetime
import unittest
from pathlib import Path

import pyarrow as pa
import quiver
from both import Remote, in_both_ways


class ObjectsCases:
    def test_tags_are_a_mapping_of_a_table(self):
        self.con.write("t", {"a": [1]}, "replace")
        tags = self.con["t"].tags
        tags["plate"] = 4055
        tags.update(mjd=55359.5, survey="boss", reviewed=True, bands=["u", "g"], name="x")
        tags.update({"object_id": 7, "kind": "k", "tags": "t", "none": []})
        self.assertEqual((tags["object_id"], tags["kind"], tags["tags"], tags["none"]), (7, "k", "t", []))
        for key in ("object_id", "kind", "tags", "none"):
            del tags[key]
        tags["seen"] = datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
        self.assertEqual(
            {key: value for key, value in tags.items() if key != "seen"},
            {"plate": 4055, "mjd": 55359.5, "survey": "boss", "reviewed": True, "bands": ["u", "g"], "name": "x"},
        )
        self.assertEqual(tags["seen"].year, 2020)
        del tags["survey"]
        self.assertNotIn("survey", tags)
        with self.assertRaises(KeyError):
            del tags["survey"]
        self.assertEqual(self.con.find("plate = 4055 AND bands = 'u'").arrow()["name"].to_pylist(), ["t"])
        with self.assertRaises(quiver.ProgrammingError):
            tags["none"] = None

    def test_blobs_are_read_by_name_as_the_transaction_has_them(self):
        contents = {f"blob{at}": bytes([at % 256]) * (at * 7) for at in range(2_000)}
        self.con.write_blobs(contents)
        self.con.write_blobs({"blob5": b"elsewhere"}, schema=self.con.sql("CREATE SCHEMA s") and "s")
        read = lambda **options: {name: bytes(content) for name, content in self.con.read_blobs([*contents, "none"], **options).items()}  # noqa: E731
        self.assertEqual(read(), contents)
        self.assertEqual(read(schema="s"), {"blob5": b"elsewhere"})
        with self.con.transaction():
            self.con.write_blobs({"blob1": b"new", "none": b""})
            self.con.blob("blob2").drop()
            contents |= {"blob1": b"new", "none": b""}
            del contents["blob2"]
            self.assertEqual(read(), contents)
        self.assertEqual(read(), contents)
        self.assertEqual(self.con.blob("none").buffer().size, 0)
        with self.assertRaises(quiver.ProgrammingError):
            self.con.blob("blob2").buffer()

    def test_ids_are_found_by_values_and_ranges_of_tags(self):
        self.con.write("r1", {"x": [1]})
        self.con.write("r2", {"x": [1]})
        self.con.tag({"kind": ["table"] * 2, "name": ["r1", "r2"], "depth": [5, 7], "label": ["a", "b"]})
        if isinstance(self, Remote):
            with self.assertRaises(quiver.NotSupportedError):
                self.con.find_ids({"depth": 5})
            return
        ids = [self.con.find(f"name = '{name}'").arrow()["object_id"][0].as_py() for name in ("r1", "r2")]
        self.assertEqual(self.con.find_ids({"depth": 5}), ids[:1])
        self.assertEqual(sorted(self.con.find_ids({"depth": (5, 7)})), ids)
        self.assertEqual(self.con.find_ids({"depth": (None, 6.5), "label": "a"}), ids[:1])
        self.assertEqual(self.con.find_ids({"depth": 5, "label": "b"}), [])
        with self.assertRaises(TypeError):
            self.con.find_ids({"depth": [1]})

    def test_one_call_tags_many_objects(self):
        self.con.write("a", {"x": [1]})
        self.con.write("b", {"x": [1]})
        count = self.con.tag({"kind": ["table", "table"], "name": ["a", "b"], "n": [1, 2], "note": [None, "y"]})
        self.assertEqual(count, 2)
        self.assertEqual(dict(self.con["b"].tags), {"n": 2, "note": "y"})
        self.assertEqual(dict(self.con["a"].tags), {"n": 1})

    def test_groups_hold_tables_and_groups(self):
        self.con.write("t", {"x": [1]}, "replace")
        outer, inner = self.con.create_group("outer", tags={"year": 2020}), self.con.create_group("inner")
        outer.add(inner)
        inner.add(self.con["t"])
        self.assertEqual(sorted(outer.objects()["name"].to_pylist()), ["inner", "t"])
        self.assertEqual(dict(outer.tags), {"year": 2020})
        inner.remove(self.con["t"])
        self.assertEqual(outer.objects()["name"].to_pylist(), ["inner"])

    def test_blobs_are_written_and_read(self):
        content = bytes(range(256)) * 1000
        written = self.con.write_blobs({"one": content, "short": b"abc", "none": b""}, {"one": {"kind_of": "fits"}})
        self.assertEqual(written, 3)
        one = self.con.blob("one")
        self.assertEqual(one.size_bytes, len(content))
        self.assertEqual(one.buffer().to_pybytes(), content)
        self.assertEqual(one.read(255, 3), b"\xff\x00\x01")
        self.assertEqual(one.read(len(content) - 1, 100), b"\xff")
        self.assertEqual(one.read(len(content) + 5), b"")
        self.assertEqual((self.con.blob("short").read(), self.con.blob("none").read()), (b"abc", b""))
        self.assertEqual(self.con.find("kind_of = 'fits'").arrow()["name"].to_pylist(), ["one"])
        one.write(memoryview(b"other bytes than before"))
        self.assertEqual((one.read(), dict(one.tags)), (b"other bytes than before", {"kind_of": "fits"}))
        target = Path(self.files) / "one.bin"
        one.save(target)
        self.assertEqual(target.read_bytes(), b"other bytes than before")
        one.drop()
        with self.assertRaises(quiver.ProgrammingError):
            one.read()

    def test_wrong_calls_say_what_is_wrong(self):
        with self.assertRaises(quiver.ProgrammingError):
            self.con.blob("gone").read()
        with self.assertRaises(quiver.ProgrammingError):
            self.con.tag({"n": [1]})
        with self.assertRaises(quiver.Error):
            self.con.find("plate +")


globals().update(in_both_ways(ObjectsCases))


class MappedBlobTest(unittest.TestCase):
    def test_a_blob_in_process_is_a_view_of_its_file(self):
        with quiver.open() as con:
            content = pa.py_buffer(b"0123456789abcdef" * 100_000)
            con.write_blobs({"b": content})
            first, second = con.blob("b").buffer(), con.blob("b").buffer()
            self.assertEqual(first.address, second.address)
            self.assertTrue(first.equals(content))


if __name__ == "__main__":
    unittest.main()
