#!/usr/bin/env python3
"""The tokenizer of docs/reference/search.md again: Python, unicodedata, nothing of Sources/Text.

    python3 Tests/TextTests/reference.py            writes what the tests expect
    python3 Tests/TextTests/reference.py --check    complains where it would write something else

It goes through whole strings, as the rules are told, where the library goes through bytes. What it
expects of each code point and of random texts is checked in as a sum over blocks of them, so that
the tests need no Python of this Unicode version; Data/sample.tsv shows some of it to people.
"""

import functools
import pathlib
import re
import sys
import unicodedata

VERSION = "14.0.0"
DATA = pathlib.Path(__file__).resolve().parent / "Data"
LISTS = pathlib.Path(__file__).resolve().parents[2] / "Scripts" / "unicode_lists.txt"

WORD_MAX = 64
PREFIXES = (2, 3, 4)
LETTER_TABLE = str.maketrans({
    "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "þ": "th", "æ": "ae",
    "œ": "oe", "ı": "i", "ʼ": "'",
})


def members(name):
    for line in LISTS.read_text().splitlines():
        if line.startswith(name + " "):
            first, last = line.split()[1].split("..")
            yield from range(int(first, 16), int(last, 16) + 1)


PICTOGRAPHIC = {chr(c) for c in members("pictographic")}
IGNORABLE = {chr(c) for c in members("ignorable")}
POINTS = {chr(c) for c in [*range(0x64B, 0x653), 0x670, 0x640]} | {
    chr(c) for c in range(0x591, 0x5C8) if unicodedata.category(chr(c)).startswith("M")}
TONES = "\U0001F3FB-\U0001F3FF"


@functools.cache
def major(c):
    return unicodedata.category(c)[0]


@functools.cache
def first_word(c):
    return unicodedata.name(c, "?").split()[0]


def dropped(text):
    return "".join(c for c in text if c not in IGNORABLE and c not in POINTS)


@functools.cache
def is_unspaced(c):
    words = "HIRAGANA KATAKANA KATAKANA-HIRAGANA HANGUL CJK IDEOGRAPHIC THAI LAO KHMER MYANMAR"
    return c == "〇" or major(c) == "L" and first_word(c) in words.split()


def without_marks(text):
    """Latin, Greek and Cyrillic letters without the marks after them."""
    result, after_letter = [], False
    for c in text:
        if c in "йїўѓќ":
            result.append(c)
            after_letter = True
            continue
        for d in unicodedata.normalize("NFD", c):
            if after_letter and major(d) == "M":
                continue
            after_letter = major(d) == "L" and first_word(d) in ("LATIN", "GREEK", "CYRILLIC")
            result.append(d)
    return unicodedata.normalize("NFC", "".join(result))


def fold(text):
    text = dropped(unicodedata.normalize("NFKD", dropped(text)))
    text = unicodedata.normalize("NFC", text).casefold()
    return without_marks(text).translate(LETTER_TABLE)


def is_own_token(c):
    """A symbol or number that NFKC changes."""
    compatible = unicodedata.normalize("NFKC", c)
    if compatible == c or unicodedata.category(c) not in ("Sm", "Sc", "Sk", "So", "No", "Nl"):
        return False
    if "RADICAL" in unicodedata.name(c):
        return False
    return any(major(d) in "LN" for d in fold(c))


def is_mere_symbol(c):
    """A symbol that NFKC changes to nothing that is searched for, as an acute accent alone."""
    return major(c) == "S" and not any(major(d) in "LN" for d in fold(c))


PICTURES = "".join(c for c in sorted(PICTOGRAPHIC) if not is_own_token(c))
OWN = "".join(chr(c) for c in range(0x110000) if is_own_token(chr(c)))
MERE = {chr(c) for c in range(0x110000) if is_mere_symbol(chr(c))}
PART = f"[{PICTURES}][\uFE0E\uFE0F]?(?:[{TONES}][\uFE0E\uFE0F]?)?[\U000E0020-\U000E007F]*"
CUT = re.compile(
    "(?P<keycap>[0-9#*][\uFE0E\uFE0F]?\u20E3)"
    f"|(?P<emoji>{PART}(?:\u200D{PART})*"
    f"|[{TONES}][\uFE0E\uFE0F]?(?:[{TONES}][\uFE0E\uFE0F]?)?[\U000E0020-\U000E007F]*"
    f"(?:\u200D{PART})*"
    "|[\U0001F1E6-\U0001F1FF]{1,2}[\uFE0E\uFE0F]?)"
    f"|(?P<own>[{re.escape(OWN)}])")


def emoji_tokens(text, purpose):
    token = "".join(c for c in text if c not in "\uFE0E\uFE0F")[:WORD_MAX]
    tokens = [("emoji", False, token)]
    bare = re.sub(f"[{TONES}]", "", token)
    if purpose == "text":
        if token[-1] == "\u20E3" and token[0].isdigit():
            tokens.append(("emoji", True, token[0]))
        elif re.search(f"[{TONES}]", token[1:]):
            tokens.append(("emoji", True, bare))
    return tokens


def word_tokens(word, purpose):
    word = word[:WORD_MAX]
    yield "word", False, word
    if purpose == "text":
        for length in PREFIXES:
            if len(word) >= length:
                yield "prefix", True, "\x01" + word[:length]


def run_tokens(units, purpose):
    pairs = [a + b for a, b in zip(units, units[1:])]
    if purpose == "query":
        yield from (("pair", False, pair) for pair in pairs)
        # The last one is asked for where another token follows; without a pair it always is.
        yield "last" if pairs else "single", False, units[-1]
        return
    for place, unit in enumerate(units):
        yield "single", False, unit
        if place < len(pairs):
            yield "pair", True, pairs[place]


def plain_tokens(text, purpose):
    """Tokens of a text without emoji and symbols that are tokens of their own."""
    word, units = "", []

    def end():
        nonlocal word, units
        if word:
            yield from word_tokens(word, purpose)
        if units:
            yield from run_tokens(units, purpose)
        word, units = "", []

    for c in fold("".join(" " if c in MERE else c for c in text)):
        if major(c) == "M":
            if word:
                word += c
            elif units:
                units[-1] = (units[-1] + c) if len(units[-1]) < WORD_MAX else units[-1]
        elif is_unspaced(c):
            if word:
                yield from end()
            units.append(c)
        elif major(c) in "LN":
            if units:
                yield from end()
            word += c
        else:
            yield from end()
    yield from end()


def all_tokens(text, purpose):
    at = 0
    for match in CUT.finditer(text):
        yield from plain_tokens(text[at:match.start()], purpose)
        if match["own"]:
            yield from plain_tokens(own_text(match["own"]), purpose)
        else:
            yield from emoji_tokens(match[0], purpose)
        at = match.end()
    yield from plain_tokens(text[at:], purpose)


def own_text(c):
    return unicodedata.normalize("NFKC", c)


def tokens(text, purpose):
    """(kind, colocated, token) of a text; purpose is "text" or "query"."""
    found, last = [], None
    for kind, colocated, token in all_tokens(text, purpose):
        if last:
            found.append(("single", False, last))
            last = None
        if kind == "last":
            last = token
        else:
            found.append((kind, colocated, token))
    return found


class Sum:
    """FNV-1a, 64 bits."""

    def __init__(self):
        self.value = 0xCBF29CE484222325

    def add(self, data):
        value = self.value
        for byte in data:
            value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        self.value = value

    def add_tokens(self, text, purpose):
        for kind, colocated, token in tokens(text, purpose):
            kinds = ("word", "single", "pair", "emoji", "prefix")
            self.add(bytes([kinds.index(kind) * 2 + colocated]) + token.encode() + b"\n")
        self.add(b"\n")


# A code point alone, between Latin letters, between Devanagari, after a kana that composes, and
# where a word of digits is before it.
CONTEXTS = ("{}", "A{}b", "अ{}अ", "か{}か", "1{}ا")


def code_points():
    """Sums of 256 code points each; runs of equal ones are one line."""
    lines = []
    for first in range(0, 0x110000, 256):
        total = Sum()
        for context in CONTEXTS:
            total.add_tokens("\n".join(
                context.format(chr(code)) for code in range(first, first + 256)
                if not 0xD800 <= code <= 0xDFFF), "text")
        value = f"{total.value:016x}"
        if lines and lines[-1][2] == value:
            lines[-1][1] = first >> 8
        else:
            lines.append([first >> 8, first >> 8, value])
    return "".join(f"{first:04X} {last:04X} {value}\n" for first, last, value in lines)


class Dice:
    """A generator that is as easy in another language."""

    def __init__(self, seed):
        self.state = seed

    def roll(self, sides):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        return (self.state >> 33) % sides


# What texts are rolled from: (first, last) of code points, chosen so that they meet each other.
ALPHABET = [
    (0x20, 0x7E), (0x20, 0x7E), (0x61, 0x7A), (0xA0, 0x17F), (0x300, 0x345), (0x370, 0x3FF),
    (0x400, 0x45F), (0x306, 0x308), (0x591, 0x5F4), (0x621, 0x670), (0x900, 0x97F),
    (0x980, 0x9FF), (0xD80, 0xDFF), (0xE01, 0xE5B), (0xE81, 0xEDF), (0x1000, 0x109F),
    (0x1100, 0x11FF), (0x1780, 0x17DD), (0x1E00, 0x1FFF), (0x200B, 0x2064), (0x20D0, 0x218B),
    (0x2460, 0x24FF), (0x2E80, 0x2FDF), (0x3001, 0x3030), (0x3041, 0x30FF), (0x3131, 0x318E),
    (0x3200, 0x33FF), (0x4E00, 0x4E20), (0xAC00, 0xAC40), (0xF900, 0xF940), (0xFB00, 0xFDFF),
    (0xFE00, 0xFE0F), (0xFE70, 0xFEFF), (0xFF01, 0xFFDC), (0x1D400, 0x1D7FF),
    (0x1F1E6, 0x1F1FF), (0x1F300, 0x1F64F), (0x1F3FB, 0x1F3FF), (0x200D, 0x200D),
    (0xFE0F, 0xFE0F), (0x20E3, 0x20E3), (0xE0061, 0xE007F), (0x0, 0xD7FF), (0xE000, 0x10FFFF),
]
TEXTS, TEXTS_IN_SUM = 20_000, 100


def text(dice):
    """Up to 24 characters; most of them from a few of the alphabets."""
    near = [dice.roll(len(ALPHABET)) for _ in range(3)]
    result = ""
    for _ in range(dice.roll(24) + 1):
        place = dice.roll(4)
        first, last = ALPHABET[near[place] if place < 3 else dice.roll(len(ALPHABET))]
        result += chr(first + dice.roll(last - first + 1))
    return result


def texts():
    """Sums of 100 random texts each, as texts and as queries."""
    dice, lines = Dice(14), []
    for _ in range(0, TEXTS, TEXTS_IN_SUM):
        total = Sum()
        for _ in range(TEXTS_IN_SUM):
            rolled = text(dice)
            total.add_tokens(rolled, "text")
            total.add_tokens(rolled, "query")
        lines.append(f"{total.value:016x}\n")
    return "".join(lines)


SAMPLE = (
    "AŽßẞøłđðħŧþæœıİſŉǽḤ™℠ℹ①⑴²½Ⅷ㎏℃㈱㍿㊗®©ёйїўѓќґᾳΐςϐµЁЙ²٣२๒ªʼ’´¨"
    "が㍻ｶﾞ한ᄒㅋ々〇ゝ〆ー・⽤⺟豈ำกကកລㄅअঅاآأؤـًٰאשׁ־ﷺﻼ…＋＃１Ａ⒜🄰𝔄𝟙🇨🏽👍☎♥⌚ᏍꭰᲐა"
)


def sample():
    """Some code points for people to read."""
    lines = [f"# Made by reference.py from Unicode {VERSION}. What a character is found under.\n"]
    for c in dict.fromkeys(SAMPLE):
        found = " ".join(token for _, _, token in tokens(c, "query")) or "-"
        lines.append(f"{ord(c):04X}\t{c}\t{found}\t{unicodedata.name(c)}\n")
    return "".join(lines)


def main():
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"reference: this Python has Unicode {unicodedata.unidata_version}, not {VERSION}")
    DATA.mkdir(exist_ok=True)
    for name, made in (("code-points.txt", code_points()), ("texts.txt", texts()),
                       ("sample.tsv", sample())):
        if sys.argv[1:] == ["--check"]:
            if (DATA / name).read_text() != made:
                sys.exit(f"reference: {name} is not what this writes")
        else:
            (DATA / name).write_text(made)


if __name__ == "__main__":
    main()
