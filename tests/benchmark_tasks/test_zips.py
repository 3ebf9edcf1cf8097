"""Equal content gives equal bytes, whenever and in whatever order it is written."""

from __future__ import annotations

import hashlib
import io
import zipfile

from benchmark_tasks.domain.zips import zipped


def test_the_bytes_depend_on_the_files_alone() -> None:
    one, other = zipped({"b.txt": "later", "a/c.py": b"x = 1\n"}), zipped({"a/c.py": "x = 1\n", "b.txt": b"later"})
    assert hashlib.sha256(one).hexdigest() == hashlib.sha256(other).hexdigest()
    with zipfile.ZipFile(io.BytesIO(one)) as archive:
        found = [
            (each.filename, each.date_time, each.compress_type, oct(each.external_attr >> 16))
            for each in archive.infolist()
        ]
        assert archive.read("a/c.py") == b"x = 1\n"
    facts = ((1980, 1, 1, 0, 0, 0), zipfile.ZIP_DEFLATED, "0o100644")
    assert found == [("a/c.py", *facts), ("b.txt", *facts)]
