"""Search beside plain FTS5 that is given the same tokens, SQLCipher's, and LIKE.

    search.py [--messages N] [--conversations N] [--rows sqlcipher,vault] [--rounds N] [--cpu]

A third each Chinese, Czech and English (`search_text.c`). Prints one table; each ratio is to plain
FTS5 in the same round, rounds alternate, and what is printed is the median. A tenth of the messages
is brought into files of their own: how a word's cost grows, and what each language takes. With
`--cpu` times are those that the process had a core, for a machine that others use, too.
"""

import argparse
import json
import math
import os
import statistics
import subprocess

import rows
from rows import HERE, KEY, OUT, ROOT

QUERIES = ("common", "unmarked", "rare", "pair", "prefix2", "prefix3", "prefix4", "prefix8",
           "filtered", "prefix1", "ranked")
LANGUAGES = ("Chinese", "Czech", "English")
CACHE_KIB = 64 << 10


def programs():
    """Builds the two programs."""
    (OUT / "files").mkdir(parents=True, exist_ok=True)
    rows.environment()
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
             "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT / 'Include'}"]
    own = ROOT / "out" / "lib"
    shared = [str(HERE / "data.c"), str(HERE / "search_text.c")]
    subprocess.run(["gcc", *flags, str(HERE / "search_plain.c"), *shared, "-lm", "-o",
                    str(OUT / "search_plain.so")], check=True)
    subprocess.run(["gcc", *flags, str(HERE / "search_tide.c"), *shared, "-lm", f"-L{own}",
                    "-ltideline", f"-Wl,-rpath,{own}", "-o", str(OUT / "search_tide.so")],
                   check=True)


def run(*command, **environment):
    """The figures of one run, by name: nanoseconds each, or a value."""
    python = str(OUT / "venv/bin/python")
    done = subprocess.run([python, str(HERE / "host.py"), *command], check=True,
                          capture_output=True, text=True, env={**os.environ, **environment})
    figures = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        figures[told["figure"]] = (
            told["value"] if "value" in told else told["ns"] / max(told["count"], 1))
    return figures


def file_of(name):
    return OUT / "files" / f"search-{name}.db"


def fresh(*names):
    for name in names:
        path = file_of(name)
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)


class Plain:
    """Plain FTS5 over one SQLite."""

    def __init__(self, name, host, prelude, size):
        self.name, self.host, self.prelude, self.size = name, host, prelude, size
        self.found = {}

    def run(self, *commands, **environment):
        for command in commands:
            self.found.update(run(
                *self.host, str(OUT / "search_plain.so"), str(file_of(self.name)), self.prelude,
                *map(str, self.size), str(CACHE_KIB), command, **environment))
        return self.found


class Tideline:
    """One file of the client's."""

    def __init__(self, name, size):
        self.name, self.size = name, size
        self.found = {}

    def run(self, *commands, **environment):
        told = {}
        for command in commands:
            told = run("tideline", str(OUT / "search_tide.so"), str(file_of(self.name)),
                       *map(str, self.size), str(CACHE_KIB), command, **environment)
            self.found.update({f"{command}.{key}": value for key, value in told.items()})
        return told

    def bytes(self):
        return file_of(self.name).stat().st_size


def cipher_host():
    """SQLCipher as `make bench` uses it, and whether it has FTS5."""
    python = str(OUT / "venv/bin/python")
    code = ("import sqlcipher3; sqlcipher3.connect(':memory:').execute("
            "'CREATE VIRTUAL TABLE t USING fts5(x)')")
    has = subprocess.run([python, "-c", code], check=False, capture_output=True).returncode == 0
    return ("module", "sqlcipher3"), has


def languages(size, system):
    """What the index of each language takes, as parts of its text."""
    found = {}
    for number, name in enumerate(LANGUAGES):
        only = {"SEARCH_LANGUAGE": str(number)}
        fresh("part")
        plain = Plain("part", system, "", size)
        with_all = plain.run("ingest", "optimize", **only)
        text, merged = with_all["text_bytes"], with_all["index_bytes"]
        fresh("part")
        without = plain.run("ingest", "optimize", SEARCH_PLAIN_WORDS="1", **only)["index_bytes"]
        fresh("part", "part-off")
        Tideline("part-off", size).run("ingest", **only)
        ours = Tideline("part", size)
        ours.run("ingest_on", "merge", **only)
        grown = ours.bytes() - Tideline("part-off", size).bytes()
        fresh("part", "part-off")
        found[name] = {"text": text, "plain": merged / text, "plain_words": without / text,
                       "file": grown / text}
    return found


def queries(asked, rounds):
    """Each in turn, so many times; the medians, and those of the ratios to the first."""
    told = [{} for _ in asked]
    for _ in range(rounds):
        for found, ask in zip(told, asked):
            for key, value in ask().items():
                found.setdefault(key, []).append(value)
    medians = [{key: statistics.median(values) for key, values in found.items()} for found in told]
    ratios = [{key: statistics.median(a / b for a, b in zip(values, told[0][key]))
               for key, values in found.items() if all(told[0].get(key, [0]))} for found in told]
    return medians, ratios


def us(ns):
    return f"{ns / 1000:,.1f}"


def measure(size, chosen, rounds):
    system = ("sqlite", rows.library("libsqlite3.so.0"))
    host, has_fts5 = cipher_host()
    fresh("plain", "sqlcipher", "vault", "off", "on", "small")
    plain = Plain("plain", system, "", size)
    plain.run("ingest", "optimize", "table")
    found = {"plain": plain.found, "sqlcipher_has_fts5": has_fts5}
    others = []
    if "sqlcipher" in chosen and has_fts5:
        cipher = Plain("sqlcipher", host, f"PRAGMA key=\"x'{KEY}'\"", size)
        found["sqlcipher"] = cipher.run("ingest", "optimize", "table")
        others.append(cipher)
    if "vault" in chosen:
        vault = Plain("vault", system, f"vault:{rows.vault()}", size)
        found["vault"] = vault.run("ingest")
        fresh("vault")
    small = (size[0] // 10, size[1])
    off, on, tenth = Tideline("off", size), Tideline("on", size), Tideline("small", small)
    off.run("ingest")
    found["off_bytes"] = off.bytes()
    on.run("ingest_on", "merge")
    found["on_bytes"] = on.bytes()
    tenth.run("ingest_on", "merge")

    def ask(name):
        asked = [lambda: plain.run("queries"), lambda: on.run("queries"),
                 lambda: tenth.run("queries")]
        asked += [lambda other=other: other.run("queries") for other in others]
        found[name], found[f"{name}_ratios"] = queries(asked, rounds)

    ask("merged")
    found["likes"] = dict(plain.run("likes"))
    found["pushes_off"], found["pushes"] = off.run("pushes"), on.run("pushes")
    tenth.run("pushes")
    ask("live")
    off.run("build")
    found["built_bytes"] = off.bytes()
    found["tideline"] = {**off.found, **on.found}
    fresh("plain", "sqlcipher", "off", "on", "small")
    found["languages"] = languages(small, system)
    return found


def report(size, found):
    base, tide = found["plain"], found["tideline"]
    text = base["text_bytes"]
    print(f"{size[0]:,} messages in {size[1]:,} conversations")
    print(f"ingest       {us(tide['ingest.ingest'])} us without, {us(tide['ingest_on.ingest'])} "
          "with search")
    for name in ("plain", "sqlcipher", "vault"):
        if name in found:
            alone = found[name]["fts5"]
            print(f"             FTS5 alone over {name} {us(alone)} us; with search is "
                  f"{tide['ingest_on.ingest'] / (tide['ingest.ingest'] + alone):.2f} of the sum")
    print(f"index        {(found['on_bytes'] - found['off_bytes']) / text:.2f} times "
          f"{text / 1e6:.1f} MB of text, built later "
          f"{(found['built_bytes'] - found['off_bytes']) / text:.2f}; FTS5 alone merged "
          f"{base['index_bytes'] / text:.2f}")
    for name, part in found["languages"].items():
        print(f"             {name}: {part['file']:.2f} in the file, FTS5 alone "
              f"{part['plain']:.2f}, without beginnings {part['plain_words']:.2f}")
    print(f"build        {us(tide['build.build'])} us a message, worst step "
          f"{us(tide['build.build_worst_step'])} us; merge after ingest "
          f"{us(tide['merge.merge'])} us, worst {us(tide['merge.merge_worst_step'])} us")
    for name in ("push_median", "push_p99", "push_worst", "advance", "advance_worst"):
        print(f"{name:13} {us(found['pushes_off'][name])} us without, "
              f"{us(found['pushes'][name])} with search")
    if not found["sqlcipher_has_fts5"]:
        print("SQLCipher lacks FTS5")
    print(f"\n{'query':12} {'plain':>9} {'Tideline':>9} {'ratio':>6} {'cipher':>9} {'ratio':>6} "
          f"{'live':>9} {'exponent':>8} {'live':>6}")
    for name in QUERIES:
        line = f"{name:12} "
        plain, ours, tenth, *others = found["merged"]
        ratios = found["merged_ratios"]
        line += f"{us(plain[name]):>9} {us(ours[name]):>9} {ratios[1][name]:>6.2f} "
        line += (f"{us(others[0][name]):>9} {ratios[3][name]:>6.2f} " if others else " " * 17)
        later, small = found["live"][1:3]
        line += f"{us(later[name]):>9} {math.log10(ours[name] / tenth[name]):>8.2f} "
        print(line + f"{math.log10(later[name] / small[name]):>6.2f}")
    for name in ("like_common", "like_rare"):
        print(f"{name:12} {us(found['likes'][name]):>9}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--rows", default="sqlcipher,vault")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    if options.cpu:
        os.environ["BENCH_CPU"] = "1"
    size = (options.messages, options.conversations)
    programs()
    found = measure(size, options.rows.split(","), options.rounds)
    (OUT / "search.json").write_text(json.dumps({"size": size, "rows": found}, indent=1))
    report(size, found)


if __name__ == "__main__":
    main()
