#!/bin/sh
# fastavro 1.13.1, beside avro 1.12.1 (PyPI), with the same schemas.
#
# Guess: where a field is a union of `double` and `long`, a Python int is written as the `long`, and
# a float as the `double`, whatever their order in the schema.
# Guess: both libraries write one value as the same bytes.
# Seen: fastavro takes the first branch that an int fits, and an int fits `float` and `double`: with
# `double` first, ids beyond 2^53 are rounded, and two messages get one id. avro does the reverse:
# it takes the last branch that fits, so it is exact with `long` last, and rounds with `long` first.
# Only a union that does not have both is exact with both libraries.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install fastavro==1.13.1 avro==1.12.1 2>pip.log
cat >try.py <<'PY'
import io
import json

import avro.io
import avro.schema
import fastavro

ID = 2**53 + 1  # A Snowflake id is larger.


def by_fastavro(union):
    schema = fastavro.parse_schema(union)
    file = io.BytesIO()
    fastavro.schemaless_writer(file, schema, ID)
    return file.getvalue(), fastavro.schemaless_reader(io.BytesIO(file.getvalue()), schema, None)


def by_avro(union):
    schema = avro.schema.parse(json.dumps(union))
    file = io.BytesIO()
    avro.io.DatumWriter(schema).write(ID, avro.io.BinaryEncoder(file))
    decoder = avro.io.BinaryDecoder(io.BytesIO(file.getvalue()))
    return file.getvalue(), avro.io.DatumReader(schema).read(decoder)


print("the id:", ID)
for union in ["null", "double", "long"], ["null", "long", "double"], ["null", "long", "string"]:
    ours, theirs = by_fastavro(union), by_avro(union)
    print(*union, "- fastavro:", ours[1], "avro:", theirs[1], "same bytes:", ours[0] == theirs[0])
PY
venv/bin/python try.py | tee seen
grep -qx 'null double long - fastavro: 9007199254740992.0 avro: 9007199254740993 same bytes: False' seen
grep -qx 'null long double - fastavro: 9007199254740993 avro: 9007199254740992.0 same bytes: False' seen
grep -qx 'null long string - fastavro: 9007199254740993 avro: 9007199254740993 same bytes: True' seen
