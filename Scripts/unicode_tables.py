#!/usr/bin/env python3
"""Writes Sources/Text/UnicodeTables.swift: what the tokenizer knows of each code point.

    python3 Scripts/unicode_tables.py            writes the file
    python3 Scripts/unicode_tables.py --check    complains where it would write another one

The rules are those of docs/reference/search.md. They are applied to each code point alone; what a
sequence needs besides (composition) is a list of pairs. The data is Python's unicodedata of the
version below, so that a Python with another version is refused, and Scripts/unicode_lists.txt.

A number is written in base 64, with the characters from "0" to "o", so that it can stand in a
literal and is read from there without being decoded first.
"""

import pathlib
import sys
import unicodedata

VERSION = "14.0.0"
HERE = pathlib.Path(__file__).resolve().parent
OUTPUT = HERE.parent / "Sources" / "Text" / "UnicodeTables.swift"

SIZE = 0x110000
BLOCK = 64
COLUMNS = 94

# Letters that no decomposition brings to their base letter, and the letter apostrophe, which
# splits as the other apostrophes do.
LETTERS = {
    "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "þ": "th", "æ": "ae",
    "œ": "oe", "ı": "i", "\u02bc": "'",
}
# Letters of their own, though they decompose.
KEPT = "йїўѓќ"
STRIPPED = {"LATIN", "GREEK", "CYRILLIC"}
# Scripts that are cut into characters: those written without spaces.
SINGLE = {"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "IDEOGRAPHIC", "CJK", "THAI",
          "LAO", "KHMER", "MYANMAR"}

KINDS = ["splitter", "word", "letter", "mark", "single", "pictograph", "indicator", "tone",
         "dropped", "mapped", "letters", "symbol"]
JOINS, CONTINUES = 16, 32
SUBJOINED = 0x345


def ranges(name):
    found = set()
    for line in (HERE / "unicode_lists.txt").read_text().splitlines():
        word, _, span = line.partition(" ")
        if word == name:
            first, last = span.split("..")
            found.update(range(int(first, 16), int(last, 16) + 1))
    return found


PICTOGRAPHS = ranges("pictographic")
DROPPED = ranges("ignorable") | set(range(0x64B, 0x653)) | {0x670, 0x640} | {
    code for code in range(0x591, 0x5C8) if unicodedata.category(chr(code)) == "Mn"}


def script(char):
    return unicodedata.name(char, "").split(" ")[0]


def is_stripped(char):
    """A letter whose marks are dropped."""
    return script(char) in STRIPPED and unicodedata.category(char)[0] == "L"


def is_single(char):
    return char == "〇" or script(char) in SINGLE and unicodedata.category(char)[0] == "L"


def fold(char):
    """What a character that stands alone becomes."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", char) if ord(c) not in DROPPED)
    folded = unicodedata.normalize("NFC", plain).casefold()
    result, base = "", False
    for c in folded:
        if c in KEPT:
            result, base = result + c, True
            continue
        for part in unicodedata.normalize("NFD", c):
            if base and unicodedata.category(part)[0] == "M":
                continue
            base = is_stripped(part)
            result += LETTERS.get(part, part)
    return unicodedata.normalize("NFC", result)


def is_symbol(char, folded):
    """A symbol or number that NFKC changes to something to search for. Radicals count as the
    characters that they become."""
    category = unicodedata.category(char)
    return (category[0] == "S" or category in ("No", "Nl")) \
        and unicodedata.normalize("NFKC", char) != char \
        and any(unicodedata.category(c)[0] in "LN" for c in folded) \
        and not ("RADICAL" in unicodedata.name(char, "") and is_single(folded))


def stable_kind(char):
    """The kind of a character that folding leaves as it is."""
    category = unicodedata.category(char)[0]
    if category == "M":
        return "mark"
    if category not in "LN":
        return "splitter"
    if is_single(char):
        return "single"
    return "letter" if is_stripped(char) else "word"


def kind(code):
    """(kind, folded) of a code point."""
    char = chr(code)
    folded = fold(char)
    if code in DROPPED:
        return "dropped", ""
    if is_symbol(char, folded):
        return "symbol", folded
    if code in PICTOGRAPHS:
        return "pictograph", char
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "indicator", char
    if 0x1F3FB <= code <= 0x1F3FF:
        return "tone", char
    if code == SUBJOINED or folded == char:
        return stable_kind(char), char
    if not folded:
        return "dropped", ""
    if all(stable_kind(c) == "splitter" for c in folded) or \
            unicodedata.category(char)[0] == "S" and \
            not any(unicodedata.category(c)[0] in "LN" for c in folded):
        return "splitter", char
    if all(stable_kind(c) == "letter" for c in folded):
        return "letters", folded
    return "mapped", folded


def composites(kinds):
    """{composite: (first, second)} of what composition can give and folding leaves alone."""
    found = {}
    for code in range(SIZE):
        parts = unicodedata.decomposition(chr(code))
        if parts and "<" not in parts and kinds[code][0] in ("word", "single", "mark") \
                and kinds[code][1] == chr(code) \
                and unicodedata.normalize("NFC", chr(code)) == chr(code):
            first, second = parts.split(" ")
            found[code] = int(first, 16), int(second, 16)
    return found


def number(value, width):
    digits = ""
    for _ in range(width):
        digits = chr(0x30 + value % 64) + digits
        value //= 64
    assert value == 0
    return digits


class Tables:
    def __init__(self):
        kinds = [kind(code) for code in range(SIZE)]
        self.pairs = composites(kinds)
        joins = set(self.pairs) | {first for first, _ in self.pairs.values()}
        continues = {second for _, second in self.pairs.values()}
        self.classes = sorted({unicodedata.combining(chr(code)) for code in range(SIZE)})
        records, self.pool, entries = {}, "", []
        for code, (name, folded) in enumerate(kinds):
            flags, order, value = KINDS.index(name), 0, 0
            if name in ("word", "single", "mark"):
                order = self.classes.index(unicodedata.combining(chr(code)))
                joins_here = code in joins or 0x1100 <= code <= 0x1112 or \
                    0xAC00 <= code <= 0xD7A3 and (code - 0xAC00) % 28 == 0
                continues_here = order > 0 or code in continues or \
                    0x1161 <= code <= 0x1175 or 0x11A8 <= code <= 0x11C2
                flags += JOINS * joins_here + CONTINUES * continues_here
            elif name in ("mapped", "letters", "symbol"):
                order = len(folded)
                value = ord(folded) if order == 1 else self.pooled(folded)
            record = number(flags, 1) + number(order, 1) + number(value, 4)
            entries.append(records.setdefault(record, len(records)))
        self.records = "".join(records)
        blocks, index = {}, []
        for first in range(0, SIZE, BLOCK):
            block = "".join(number(entry, 2) for entry in entries[first:first + BLOCK])
            index.append(blocks.setdefault(block, len(blocks)))
        self.index = "".join(number(block, 2) for block in index)
        self.blocks = "".join(blocks)

    def pooled(self, text):
        at = self.pool.find(text)
        if at < 0:
            at = len(self.pool)
            self.pool += text
        return at


def literal(name, why, text):
    """A declaration whose literal is broken into lines."""
    yield f"  /// {why}"
    yield f'  static let {name}: StaticString = #"""'
    for at in range(0, len(text), COLUMNS):
        end = "" if at + COLUMNS >= len(text) else r"\#"
        yield "    " + text[at:at + COLUMNS] + end
    yield '    """#'


def source():
    tables = Tables()
    by_parts = sorted((parts, code) for code, parts in tables.pairs.items())
    by_code = sorted((code, parts) for code, parts in tables.pairs.items())
    lines = [
        "// swift-format-ignore-file",
        f"/// What Unicode {VERSION} says of a code point, as docs/reference/search.md needs it.",
        "///",
        "/// Scripts/unicode_tables.py made this file and says what is in it: change it there.",
        "",
        "enum UnicodeTables {",
        f'  static let version: StaticString = "{VERSION}"',
        f"  static let blockSize = {BLOCK}",
        "  /// The place of 230, the class of marks above, among the combining classes.",
        f"  static let aboveOrder = {tables.classes.index(230)}",
        f"  static let pairCount = {len(tables.pairs)}",
        "",
    ]
    lines += literal("index", "The block of each run of code points: 2 digits.", tables.index)
    lines += literal("blocks", "The record of each code point of a block: 2 digits.",
                     tables.blocks)
    lines += literal("records", "Kind and flags 1, combining class or length 1, value 4 digits.",
                     tables.records)
    lines += literal("pool", "What characters become, where it is more than one: 4 digits each.",
                     "".join(number(ord(c), 4) for c in tables.pool))
    lines += literal("composed", "First, second and composite, by the parts: 4 digits each.",
                     "".join(number(a, 4) + number(b, 4) + number(c, 4)
                             for (a, b), c in by_parts))
    lines += literal("decomposed", "The same by the composite.",
                     "".join(number(a, 4) + number(b, 4) + number(c, 4)
                             for c, (a, b) in by_code))
    lines += ["}", ""]
    sizes = {name: len(getattr(tables, name)) for name in ("index", "blocks", "records", "pool")}
    return "\n".join(lines), sizes, len(tables.pairs)


def main():
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"unicode_tables: this Python has Unicode {unicodedata.unidata_version}, "
                 f"the tables are of {VERSION}")
    text, sizes, pairs = source()
    if sys.argv[1:] == ["--check"]:
        if OUTPUT.read_text() != text:
            sys.exit("unicode_tables: Sources/Text/UnicodeTables.swift is not what this writes")
    else:
        OUTPUT.write_text(text)
    print(f"unicode_tables: Unicode {VERSION}, {sizes}, {pairs} pairs")


if __name__ == "__main__":
    main()
