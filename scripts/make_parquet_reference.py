#!/usr/bin/env python3
"""Writes tests/reference/parquet/: small tables written by pyarrow in each form that the reader knows.

    pip install pyarrow==26.0.1
    python3 scripts/make_parquet_reference.py

tables.json has the expected fields of the files whose values the test compares: columns and rows, null or text, lists as JSON.
"""
import decimal
import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/parquet"
ROWS = 60
DELTAS = {"text": "DELTA_BYTE_ARRAY", "short": "DELTA_LENGTH_BYTE_ARRAY", "number": "DELTA_BINARY_PACKED", "large": "DELTA_BINARY_PACKED",
          "positive": "DELTA_BINARY_PACKED", "single": "BYTE_STREAM_SPLIT", "double": "BYTE_STREAM_SPLIT", "flag": "RLE",
          "tags.list.element": "DELTA_BYTE_ARRAY"}


def gaps(values, every):
    return [None if row % every == every - 1 else value for row, value in enumerate(values)]


def table():
    rows = range(ROWS)
    words = [f"line {row // 7}, \"word\" {row * row}\n" + "äß日😀"[row % 4] * (row % 5) for row in rows]
    return pa.table({
        "text": pa.array(gaps(words, 11)),
        "short": pa.array([("red", "green", "", "blue")[row * row % 4] for row in rows]),
        "number": pa.array(gaps([(row - 30) ** 5 for row in rows], 7), pa.int32()),
        "large": pa.array([(row - 30) * (2**58 + 12345) for row in rows], pa.int64()),
        "positive": pa.array([2**32 - 1 - row for row in rows], pa.uint32()),
        "most": pa.array([2**64 - 1 - row for row in rows], pa.uint64()),
        "single": pa.array(gaps([row / 8 for row in rows], 13), pa.float32()),
        "double": pa.array([1.5 ** row - 7 for row in rows], pa.float64()),
        "flag": pa.array(gaps([row % 3 == 0 for row in rows], 5)),
        "nothing": pa.array([None] * ROWS, pa.string()),
        "tags": pa.array(gaps([[f"t{row % 3}"] * (row % 4) for row in rows], 9)),
        "ids": pa.array([list(range(row % 5)) for row in rows], pa.list_(pa.int16())),
        "translation": pa.array(gaps([{"en": f"cat {row}", "de": None if row % 2 else "Katze"} for row in rows], 10)),
    })


def text_of(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return json.dumps([text_of(item) for item in value], ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value)


def write_tables():
    whole = table()
    forms = {f"{codec}-{page[0]}": dict(compression=codec, data_page_version=page)
             for codec in ("none", "snappy", "gzip", "zstd") for page in ("1.0", "2.0")}
    forms["plain"] = dict(use_dictionary=False, compression="zstd", data_page_size=200, write_page_checksum=True)
    forms["deltas"] = dict(use_dictionary=False, compression="none", column_encoding=DELTAS, data_page_version="2.0")
    forms["groups"] = dict(row_group_size=17, data_page_size=64, write_batch_size=8, dictionary_pagesize_limit=128, compression="snappy", version="1.0",
                           use_compliant_nested_type=False, write_statistics=False)
    for name, form in forms.items():
        pq.write_table(whole, TARGET / f"{name}.parquet", **{"write_statistics": False, "store_schema": False, **form})
    flat = whole.flatten()
    columns = flat.column_names
    rows = [[text_of(row[name]) for name in columns] for row in flat.to_pylist()]
    (TARGET / "tables.json").write_text(json.dumps({"files": sorted(forms), "columns": columns, "rows": rows}, ensure_ascii=False) + "\n")


def write_special_files():
    put = lambda name, columns, **form: pq.write_table(pa.table(columns), TARGET / f"{name}.parquet", store_schema=False, write_statistics=False, **form)
    put("empty", {"text": pa.array([], pa.string())})
    put("small", {"text": ["one", "two", None], "label": [1, 0, 1]}, compression="snappy", write_page_checksum=True)
    put("others", {"day": pa.array([19000], pa.date32()), "price": pa.array([decimal.Decimal("1.25")]), "bytes": pa.array([b"abc"], pa.binary(3)),
                   "nested": pa.array([[[1]]]), "gap": pa.array([["a", None]]), "raw": pa.array([b"a\xff"], pa.binary()),
                   "raws": pa.array([[b"a\xff"]], pa.list_(pa.binary()))})
    put("time", {"when": pa.array([0], pa.timestamp("ns"))}, use_deprecated_int96_timestamps=True)
    for codec in ("brotli", "lz4"):
        put(codec, {"text": ["one"]}, compression=codec)
    put("many", {"same": ["same"] * 70_000, "number": pa.array(range(70_000), pa.int32())}, use_dictionary=["same"],
        column_encoding={"number": "DELTA_BINARY_PACKED"}, compression="zstd")
    put("ask", {"text": ["fine film", "", "poor song"]})
    put("priced", {"Text": ["fine film", "poor song"], "price": [decimal.Decimal("1.25"), None]})
    put("tagged", {"tokens": [["Ada", "met", "Bo"], ["Hi"]], "ner_tags": pa.array([[1, 0, 1], [0]], pa.list_(pa.int64())),
                   "names": [["P", "O", "P"], ["O"]]})


if __name__ == "__main__":
    TARGET.mkdir(parents=True, exist_ok=True)
    write_tables()
    write_special_files()
