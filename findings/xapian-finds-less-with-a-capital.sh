#!/bin/sh
# Xapian 1.4.22 (Debian bookworm: libxapian30 and python3-xapian, 1.4.22-1).
#
# Guess: a capital letter changes nothing in a search. Keyboards of phones begin each field with
# one.
# Guess: search while the user types (FLAG_PARTIAL) finds the message at each letter of a word that
# finds it when it is complete.
# Seen: a query parser with a stemmer takes a word with a capital for a name, and does not stem it:
# "meeting" finds a message with "meetings", and "Meeting" finds none. Lower case for the whole
# text loses the operators, which are capitals: "not" is a word then. STEM_ALL_Z finds the message,
# and finds no words in quotes any more.
# Seen: of "moving", "mov" finds the message with "moved", "movi" and "movin" find nothing, and
# "moving" finds it again. The parser does not stem an incomplete word.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download python3-xapian=1.4.22-1 libxapian30=1.4.22-1 \
  libuuid1 zlib1g >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':')
export LD_LIBRARY_PATH
cat >try.py <<'PY'
import xapian

index = xapian.WritableDatabase("", xapian.DB_BACKEND_INMEMORY)
words = xapian.TermGenerator()
words.set_stemmer(xapian.Stem("en"))
for text in "two meetings on Monday", "it was moved":
    message = xapian.Document()
    message.set_data(text)
    words.set_document(message)
    words.index_text(text)
    index.add_document(message)
parser = xapian.QueryParser()
parser.set_database(index)
parser.set_stemmer(xapian.Stem("en"))


def search(title, text, flags=xapian.QueryParser.FLAG_DEFAULT):
    query = xapian.Enquire(index)
    query.set_query(parser.parse_query(text, flags))
    found = [match.document.get_data().decode() for match in query.get_mset(0, 10)]
    print(f"{title} {text}:", ", ".join(found) or "none")


parser.set_stemming_strategy(xapian.QueryParser.STEM_SOME)
for text in "meeting", "Meeting", "Meetings", '"was moved"', "meeting NOT moving":
    search("some,", text)
search("some,", "Meeting NOT moving".lower())
parser.set_stemming_strategy(xapian.QueryParser.STEM_ALL_Z)
for text in "Meeting", '"was moved"':
    search("all,", text)
parser.set_stemming_strategy(xapian.QueryParser.STEM_SOME)
for text in "mov", "movi", "movin", "moving":
    search("typed,", text, xapian.QueryParser.FLAG_PARTIAL)
PY
PYTHONPATH=root/usr/lib/python3/dist-packages timeout 60 /usr/bin/python3 try.py | tee seen
grep -qx 'some, meeting: two meetings on Monday' seen
grep -qx 'some, Meeting: none' seen
grep -qx 'some, Meetings: two meetings on Monday' seen
grep -qx 'some, "was moved": it was moved' seen
grep -qx 'some, meeting NOT moving: two meetings on Monday' seen
grep -qx 'some, meeting not moving: .*it was moved.*' seen
grep -qx 'all, Meeting: two meetings on Monday' seen
grep -qx 'all, "was moved": none' seen
grep -qx 'typed, mov: it was moved' seen
grep -qx 'typed, movi: none' seen
grep -qx 'typed, movin: none' seen
grep -qx 'typed, moving: it was moved' seen
