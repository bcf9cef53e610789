"""CSV files as people have them make the same tables in Quiver and in DuckDB."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent / "python"))

from compare_files import compare

FILES = {
    "numbers_above_truths.csv": "id,100022,100025\nid1,TRUE,FALSE\nid2,TRUE,TRUE\n",
    "empty_name.csv": "id,,age\n1101,John,30\n1102,Julie,26\n",
    "name_at_the_end.csv": "a,b,\n1,x,\n2,y,\n",
    "names_twice.csv": "A,B,B,C\n1,b,2,c\n3,d,4,e\n",
    "line_above.csv": "a report of 2024\nid,name,size\n1,x,2.5\n2,y,3.5\n3,z,4.5\n",
    "counts_above.csv": "3,4\n1,2,3,4,5\n6,7,8,9,10\n11,12,13,14,15\n",
    "comments.csv": "# made by hand\nid,name\n1,english\n# so it is\n2,german\n",
    "single_quotes.csv": "'id';'name'\n1;'x; y'\n2;'z'\n",
    "escapes.csv": 'id,text\n1,"say \\"a, b\\" to him"\n2,"c"\n',
    "day_first.csv": "id,day\n1,31/01/2024\n2,01/02/2024\n",
    "month_first.csv": "id,day\n1,01/31/2024\n2,01/02/2024\n",
    "year_first.csv": "id,day\n1,2024/01/31\n2,2024/02/01\n",
    "hours.csv": "id,at\n1,4:10:00\n2,14:10:00\n",
}


class CsvFiles(unittest.TestCase):
    def test_they_are_read_as_duckdb_reads_them(self) -> None:
        import quiver

        with tempfile.TemporaryDirectory() as directory, quiver.open(Path(directory) / "store") as connection:
            for name, text in FILES.items():
                path = Path(directory) / name
                path.write_text(text)
                with self.subTest(name):
                    self.assertEqual(compare(connection, path), ("equal", ""))


if __name__ == "__main__":
    unittest.main()
