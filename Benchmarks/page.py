"""Writes the tables and plots of docs/design/benchmarks.md from the last runs in `out/bench`.

A part of the page between `<!-- NAME -->` and `<!-- end -->` is made anew where its run has left
figures, and stays as it is where it has not. What the targets are stands here too, so that the page
says of the same figures whether they are met.
"""

import json
import textwrap

import growth
import plots
import rows as bench
import run
import syscalls
import weigh

PAGE = bench.ROOT / "docs" / "design" / "benchmarks.md"


def left(name):
    """The figures that a run has left, or None."""
    file = bench.OUT / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def paragraph(text):
    """Text in the columns that a page has."""
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False) + "\n\n"


def results(given):
    rounds, cache = given["rounds"], given["cache_kib"] / 1024
    return (paragraph(
        f"{given['messages']:,} messages in {given['conversations']:,} conversations, medians of"
        f" {rounds} {'round' if rounds == 1 else 'rounds'}, a page cache of {cache:.0f} MiB, in"
        f" brackets the median of the rounds' ratios to plain SQLite; {given['machine']}.")
            + run.table(given["figures"], list(given["figures"])))


def system_calls(given):
    return (paragraph(
        f"{given['messages']:,} messages in {given['conversations']:,} conversations; all calls of"
        " one, in brackets syncs and what was written.")
            + syscalls.table(given["figures"], list(given["figures"])))


def sizes(given):
    """A table of each series, with whole numbers for keys again."""
    parts = []
    for title, found in given["series"].items():
        found = {name: {figure: {int(size): value for size, value in values.items()}
                        for figure, values in figures.items()} for name, figures in found.items()}
        counts = sorted({size for figures in found.values() for values in figures.values()
                         for size in values})
        parts.append(f"**{title.capitalize()}**\n\n{growth.table(found, counts)}")
    return paragraph(f"{given['machine']}.") + "\n\n".join(parts)


def weight(given):
    return (paragraph(
        f"{given['messages']:,} messages in {given['conversations']:,} conversations, a page cache"
        f" of {given['cache_kib'] / 1024:.0f} MiB; {given['machine']}.")
            + weigh.table(given))


class Measured:
    """What the targets are about; None where a run has not been made."""

    def __init__(self):
        self.results, self.growth, self.weight = left("results"), left("growth"), left("weight")

    def ratio(self, figure, to="plain SQLite", other=None, row="Tideline"):
        found = self.results["figures"] if self.results else {}
        own, beside = found.get(row, {}).get(figure), found.get(to, {}).get(other or figure)
        return run.ratio(own, beside) if own and beside else None

    def exponent(self, series, row, figure):
        values = (self.growth or {}).get("series", {}).get(series, {}).get(row, {}).get(figure, {})
        return growth.exponent([(int(size), value) for size, value in values.items()])

    def mib(self, of, less):
        if not self.weight:
            return None
        memory = self.weight["memory"]["Tideline"]
        above = memory[of] - memory.get(less, self.weight["cache_kib"])
        # With few messages the page cache is never full, and nothing is said.
        return above / 1024 if above > 0 else None

    def load(self):
        loads = self.weight["loads"] if self.weight else None
        return loads and loads["tideline"]["load"] / loads["trivial"]["load"]


def targets(measured):
    """(what, at most, now) of each target."""
    ratio = measured.ratio
    return [
        ("ingest, to plain", 2.5, ratio("ingest")),
        ("ingest, to SQLCipher's plain part", 1.15, ratio("ingest", "SQLCipher")),
        ("one update, `NORMAL`, to plain", 2.2, ratio("live_normal")),
        ("one update, `FULL`, to plain", 1.3, ratio("live_full")),
        ("one update, `NORMAL`, to SQLCipher", 1.0, ratio("live_normal", "SQLCipher")),
        ("one update, `NORMAL`, to SQLite3MultipleCiphers", 1.0,
         ratio("live_normal", "SQLite3MultipleCiphers")),
        ("one update, `FULL`, to SQLCipher", 1.0, ratio("live_full", "SQLCipher")),
        ("one update, `FULL`, to SQLite3MultipleCiphers", 1.0,
         ratio("live_full", "SQLite3MultipleCiphers")),
        ("one update, exponent of the conversation's length (time)", 0.05,
         measured.exponent("one conversation", "Tideline", "live_normal")),
        ("the same (instructions)", 0.05,
         measured.exponent("instructions", "Tideline, instructions", "live_normal")),
        ("cold: open and first window, to plain", 1.6, ratio("cold")),
        ("warm window of 50 to C, to plain", 1.0, ratio("warm")),
        ("windows in turns, page cache of 2 MiB, to plain", 3.0, ratio("spread_2mib")),
        ("warm window of 50 to Python, to `json.loads`", 1.0,
         ratio("python_warm", "Tideline", "json_loads")),
        ("file size, to plain", 1.1, ratio("file_mib")),
        ("peak memory above the page cache, MiB", 16, measured.mib("peak_kib", "")),
        ("a window of 10,000 rows, MiB", 16, measured.mib("long_kib", "screens_kib")),
        ("library, stripped, bytes", 10_400_000, (measured.weight or {}).get("bytes")),
        ("load, to a trivial library", 1.5, measured.load()),
    ]


def standing(measured):
    """Markdown of the targets."""
    lines = ["| target | at most | now | met |", "|---|---|---|---|"]
    for what, most, now in targets(measured):
        shown = "–" if now is None else f"{now:,}" if isinstance(now, int) else f"{now:.2f}"
        met = "–" if now is None else "yes" if now <= most else "no"
        lines.append(f"| {what} | {most:,} | {shown} | {met} |")
    return "\n".join(lines)


def replaced(page, name, text):
    """The page with one part of it made anew."""
    mark, end = f"<!-- {name} -->\n", "<!-- end -->"
    before, after = page.split(mark, 1)
    return f"{before}{mark}\n{text}\n\n{end}{after.split(end, 1)[1]}"


def main():
    page = PAGE.read_text()
    for name, make in [("results", results), ("syscalls", system_calls), ("growth", sizes),
                       ("weight", weight)]:
        given = left(name)
        if given:
            page = replaced(page, name, make(given))
    measured = Measured()
    page = replaced(page, "targets", standing(measured))
    if measured.results:
        plots.ratios(measured.results["figures"], PAGE.with_name("benchmarks-ratios.svg"))
    if measured.growth:
        plots.growth(measured.growth["series"]["one conversation"],
                     PAGE.with_name("benchmarks-growth.svg"))
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
