#!/bin/sh
# tantivy 0.25.1 and 0.27.0 (PyPI, the Python bindings to Tantivy), one index.
#
# Guess: an index that a newer release opens without an error is searched as before. A change of
# what is stored would raise the version of the format, and an index of another one is refused.
# Seen: stems changed between the two (Snowball 2 and 3), and no version says so. With the English
# stemmer the newer release looks for `evening` where the older one stored `even`: "evening" finds
# only the messages that are added from then on. The list looks complete, since other words are
# found, and "even" finds the old message. In Dutch, "dagen" and "huizen" are such words. A program
# has to keep the release beside its index, and to index anew when it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install tantivy==0.25.1 --target older 2>pip.log
venv/bin/pip -q install tantivy==0.27.0 --target newer 2>>pip.log
mkdir english dutch
cat >try.py <<'PY'
import sys

import tantivy


def opened(language):
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("number", stored=True, tokenizer_name="raw")
    builder.add_text_field("body", tokenizer_name=f"{language}_words")
    index = tantivy.Index(builder.build(), path=language)
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    words = words.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.stemmer(language))
    index.register_tokenizer(f"{language}_words", words.build())
    return index


def add(index, number, text):
    writer = index.writer()
    writer.add_document(tantivy.Document(number=number, body=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()


def find(label, index, *words):
    searcher = index.searcher()
    for word in words:
        hits = searcher.search(index.parse_query(word, ["body"])).hits
        found = sorted(searcher.doc(place)["number"][0] for _, place in hits)
        print(f"{label}, {word}:", *found or ["nothing"])


label, number = sys.argv[1:]
english, dutch = opened("english"), opened("dutch")
add(english, number, "good evening to all, a universal greeting")
add(dutch, number, "twee dagen vrij, alle huizen open")
find(label, english, "greeting", "evening", "even", "universal")
find(label, dutch, "vrij", "dagen", "huizen")
PY
PYTHONPATH=older venv/bin/python try.py older 1 | tee seen
PYTHONPATH=newer venv/bin/python try.py newer 2 | tee -a seen
for word in greeting evening even universal vrij dagen huizen; do
    grep -qx "older, $word: 1" seen
done
for word in greeting vrij; do
    grep -qx "newer, $word: 1 2" seen
done
for word in evening universal dagen huizen; do
    grep -qx "newer, $word: 2" seen
done
grep -qx 'newer, even: 1' seen
