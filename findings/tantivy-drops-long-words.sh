#!/bin/sh
# tantivy 0.27.0 (PyPI, the Python bindings to Tantivy).
#
# Guess: a word of any length is found by itself; where a script writes no spaces, a message is at
# the least found by its whole text.
# Seen: the default analyzer, and `en_stem`, drop each word of 40 bytes or more, from messages and
# from queries, and report nothing. Such are 14 Chinese characters in a row, 20 Cyrillic letters, a
# hash, or a key. A longer Chinese message is never found, and a shorter one by its whole text only.
# A query that requires a hash and another word asks for the other one, and finds messages without
# the hash. An analyzer that is built without the filter finds all of them; `ngram` finds parts.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install tantivy==0.27.0 2>pip.log
cat >try.py <<'PY'
import tantivy

chinese = "我们明天早上八点在学校门口见"
messages = {
    "39 letters": "a" * 39, "40 letters": "b" * 40, "13 Chinese": chinese[:13],
    "14 Chinese": chinese, "20 Cyrillic": "ж" * 20, "hash and hello": "c" * 64 + " hello",
    "hello": "hello"}


def index(name, analyzer):
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", tokenizer_name=name)
    base = tantivy.Index(builder.build())
    if analyzer:
        base.register_tokenizer(name, analyzer)
    writer = base.writer(15_000_000, 1)
    for key, text in messages.items():
        writer.add_document(tantivy.Document(id=key, text=text))
    writer.commit()
    writer.wait_merging_threads()
    base.reload()
    return base


def found(base, text):
    searcher = base.searcher()
    hits = searcher.search(base.parse_query(text, ["text"]), 9).hits
    return ", ".join(sorted(searcher.doc(place)["id"][0] for _, place in hits)) or "nothing"


plain = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(
    tantivy.Filter.lowercase()).build()
parts = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(2, 2, False)).build()
for name, analyzer in ("default", None), ("en_stem", None), ("plain", plain), ("ngram", parts):
    base = index(name, analyzer)
    if name != "ngram":
        for key in "39 letters", "40 letters", "13 Chinese", "14 Chinese", "20 Cyrillic":
            print(f"{name}: by its text is found {key}:", found(base, messages[key]) == key)
    print(f"{name}: a part of the Chinese text finds", found(base, '"明天"'))
    if name in ("default", "plain"):
        print(f"{name}: another hash and hello find", found(base, f"+{'d' * 64} +hello"))
PY
timeout 60 venv/bin/python try.py | tee seen
test "$(grep -c '^plain: by its text is found .*: True$' seen)" = 5
for name in default en_stem; do
  for key in '39 letters: True' '13 Chinese: True' '40 letters: False' '14 Chinese: False' \
    '20 Cyrillic: False'; do
    grep -qx "$name: by its text is found $key" seen
  done
done
grep -qx 'default: a part of the Chinese text finds nothing' seen
grep -qx 'default: another hash and hello find hash and hello, hello' seen
grep -qx 'plain: another hash and hello find nothing' seen
grep -qx 'ngram: a part of the Chinese text finds 13 Chinese, 14 Chinese' seen
