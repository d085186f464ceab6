#!/usr/bin/env python3
"""Draws the pictures of ARCHITECTURE.md: the map from docs/images/map.txt, and a sequence diagram
from each table of its two walks. With --check it only says which picture is not what it would draw.
"""

import html
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
WALKS = ("page.svg", "send.svg")
WIDTH, MARGIN = 960, 24
INK, PALE, LINE, FILL = "#1c2430", "#5b6472", "#9aa4b2", "#eef4f2"
ACCENT = "#1f7a54"
ACTORS = ("Host", "ABI", "Engine", "Wire", "Timeline", "Store", "Vault")


def text(x, y, words, *, size=13, anchor="middle", fill=INK, weight="normal", mono=False):
    family = ' font-family="ui-monospace, monospace"' if mono else ""
    return (f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{fill}" font-size="{size}" '
            f'font-weight="{weight}"{family}>{html.escape(words)}</text>')


def box(x, y, width, height):
    return (f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" '
            f'fill="{FILL}" stroke="{LINE}"/>')


def arrow(*points):
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return (f'<polyline points="{path}" fill="none" stroke="{ACCENT}" stroke-width="1.5" '
            'marker-end="url(#head)"/>')


def picture(title, height, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        'font-family="ui-sans-serif, system-ui, sans-serif" role="img">',
        f"<title>{html.escape(title)}</title>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        f'markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{ACCENT}"/></marker>'
        "</defs>",
        f'<rect width="{WIDTH}" height="{height:g}" rx="10" fill="#ffffff" stroke="#dfe3e8"/>',
        text(MARGIN, 34, title, size=17, anchor="start", weight="600"), *parts, "</svg>", ""])


def map_picture(source):
    """Rows of boxes. `title WORDS`, `row NAME: WORDS | NAME*2: WORDS` (two columns
    wide), `arrow NAME NAME`."""
    title, places, parts, y = "", {}, [], 56
    for line in source.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "title":
            title = rest
        elif kind == "row":
            cells = [re.fullmatch(r"(\w+)(?:\*(\d))?: (.*)", cell) for cell in rest.split(" | ")]
            columns = sum(int(cell[2] or 1) for cell in cells)
            column, x = (WIDTH - MARGIN) / columns, MARGIN
            for cell in cells:
                name, words = cell[1], cell[3]
                width = column * int(cell[2] or 1) - MARGIN
                places[name] = x, y, width
                lines = textwrap.wrap(words, int(width / 6.4))
                parts += [box(x, y, width, 62),
                          text(x + width / 2, y + 20, name, weight="600")]
                parts += [text(x + width / 2, y + 36 + 16 * n, words, size=12, fill=PALE)
                          for n, words in enumerate(lines)]
                x += width + MARGIN
            y += 96
        elif kind == "arrow":
            upper, lower = rest.split()
            (x1, y1, w1), (x2, y2, w2) = places[upper], places[lower]
            low, high = max(x1, x2), min(x1 + w1, x2 + w2)
            ends = ((low + high) / 2,) * 2 if low < high else (low + 24, high - 24)
            ends = ends if low < high or x1 > x2 else (high - 24, low + 24)
            parts.append(arrow((ends[0], y1 + 62), (ends[1], y2)))
        elif kind:
            raise SystemExit(f"diagrams: {kind} is neither title, row nor arrow")
    return picture(title, y - 10, parts)


def walks(page):
    """The walks of the page as (title, [(folder, function, words)])."""
    part = page.split("## Two walks")[1].split("\n## ")[0]
    for walk in part.split("\n### ")[1:]:
        rows = re.findall(r"^\| \d+ \| `(\w+)/[^`]+` \| `(\w+)` \| (.*?) \|$", walk, re.MULTILINE)
        yield walk.split("\n")[0], rows


def sequence(title, rows):
    used = [name for name in ACTORS if name == "Host" or name in {row[0] for row in rows}]
    step = 70
    x = {name: MARGIN + 34 + step * index for index, name in enumerate(used)}
    words_at = x[used[-1]] + 52
    parts, y, last = [], 104, "Host"
    for number, (actor, function, words) in enumerate(rows, 1):
        if actor == last:
            parts.append(arrow((x[actor], y - 8), (x[actor] + 24, y - 8), (x[actor] + 24, y + 6),
                               (x[actor] + 3, y + 6)))
        else:
            parts.append(arrow((x[last], y), (x[actor], y)))
        parts.append(text(words_at, y - 3, f"{number}  {function}", anchor="start", mono=True))
        lines = textwrap.wrap(words.replace("`", ""), int((WIDTH - words_at - MARGIN) / 6.1))
        parts += [text(words_at + 24, y + 13 + 15 * n, line, size=12, anchor="start", fill=PALE)
                  for n, line in enumerate(lines)]
        y, last = y + 44 + 15 * (len(lines) - 1), actor
    heads = []
    for name in used:
        heads += [f'<line x1="{x[name]:g}" y1="78" x2="{x[name]:g}" y2="{y - 16:g}" '
                  f'stroke="{LINE}" stroke-dasharray="3 4"/>',
                  box(x[name] - 31, 54, 62, 26), text(x[name], 71, name, size=12, weight="600")]
    return picture(title, y, heads + parts)


def pictures():
    """What each picture has to be, by name."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    drawn = {"map.svg": map_picture((IMAGES / "map.txt").read_text(encoding="utf-8"))}
    for name, (title, rows) in zip(WALKS, walks(page), strict=True):
        drawn[name] = sequence(title, rows)
    return drawn


def stale():
    """The pictures that are not what would be drawn now."""
    return [name for name, svg in pictures().items()
            if not (IMAGES / name).exists()
            or (IMAGES / name).read_text(encoding="utf-8") != svg]


def main():
    if sys.argv[1:] == ["--check"]:
        sys.exit("\n".join(f"docs/images/{name}: run `make diagrams`" for name in stale()) or 0)
    for name, svg in pictures().items():
        (IMAGES / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
