"""Search beside plain FTS5 that is given the same tokens, SQLCipher's, and LIKE.

    search.py [--messages N] [--conversations N] [--rows plain,sqlcipher,vault]

A third each Chinese, Czech and English (`search_text.c`). Prints one table; each ratio is to plain
FTS5 in the same run.
"""

import argparse
import json
import subprocess

import rows
from rows import HERE, KEY, OUT, ROOT

QUERIES = ("common", "rare", "pair", "prefix2", "prefix3", "prefix4", "prefix8", "filtered",
           "prefix1", "like_common", "like_rare")
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


def run(*command):
    """The figures of one run, by name: nanoseconds each, or a value."""
    python = str(OUT / "venv/bin/python")
    done = subprocess.run([python, str(HERE / "host.py"), *command], check=True,
                          capture_output=True, text=True)
    figures = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        figures[told["figure"]] = (
            told["value"] if "value" in told else told["ns"] / max(told["count"], 1))
    return figures


def fresh(name):
    path = OUT / "files" / f"search-{name}.db"
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    return path


def plain(name, host, prelude, size, queries=True):
    """Plain FTS5 over one SQLite."""
    path = fresh(name)
    rest = [str(OUT / "search_plain.so"), str(path), prelude, *map(str, size), str(CACHE_KIB)]
    found = {}
    for command in ("ingest", "optimize", "table", "queries") if queries else ("ingest",):
        found.update(run(*host, *rest, command))
    return found


def tideline(size):
    """Tideline: without search, with it from the beginning, and built after."""
    def over(name, *commands):
        found = {}
        for command in commands:
            made = run("tideline", str(OUT / "search_tide.so"),
                       str(OUT / "files" / f"search-{name}.db"), *map(str, size), str(CACHE_KIB),
                       command)
            found.update({f"{command}.{key}": value for key, value in made.items()})
        return found

    def file_bytes(name):
        return (OUT / "files" / f"search-{name}.db").stat().st_size

    fresh("off"), fresh("on")
    found = over("off", "ingest")
    found["off_bytes"] = file_bytes("off")
    found.update(over("on", "ingest_on", "merge"))
    found["on_bytes"] = file_bytes("on")
    found.update(over("on", "queries"))
    off = over("off", "pushes")
    found.update({key.replace("pushes", "pushes_off"): value for key, value in off.items()})
    found.update(over("on", "pushes"))
    found.update({f"after.{key}": value for key, value in over("on", "queries").items()})
    found.update(over("off", "build"))
    found["built_bytes"] = file_bytes("off")
    return found


def us(ns):
    return f"{ns / 1000:,.1f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--rows", default="plain,sqlcipher,vault")
    options = parser.parse_args()
    size = (options.messages, options.conversations)
    programs()
    chosen = options.rows.split(",")
    found = {}
    system = ("sqlite", rows.library("libsqlite3.so.0"))
    if "plain" in chosen:
        found["plain"] = plain("plain", system, "", size)
    if "sqlcipher" in chosen:
        found["sqlcipher"] = plain("sqlcipher", ("module", "sqlcipher3"),
                                   f"PRAGMA key=\"x'{KEY}'\"", size)
    if "vault" in chosen:
        found["vault"] = plain("vault", system, f"vault:{rows.vault()}", size, queries=False)
    tide = found["tideline"] = tideline(size)
    (OUT / "search.json").write_text(json.dumps({"size": size, "rows": found}, indent=1))

    base = found.get("plain", {})
    text = base.get("text_bytes", 0)
    print(f"{size[0]:,} messages in {size[1]:,} conversations")
    print(f"ingest       {us(tide['ingest.ingest'])} us without, {us(tide['ingest_on.ingest'])} "
          "with search")
    for name in ("plain", "sqlcipher", "vault"):
        if name in found:
            alone = found[name]["fts5"]
            print(f"             FTS5 alone over {name} {us(alone)} us; with search is "
                  f"{tide['ingest_on.ingest'] / (tide['ingest.ingest'] + alone):.2f} of the sum")
    if text:
        grown = tide["on_bytes"] - tide["off_bytes"]
        print(f"index        {grown / text:.2f} times {text / 1e6:.1f} MB of text, built later "
              f"{(tide['built_bytes'] - tide['off_bytes']) / text:.2f}; FTS5 alone merged "
              f"{base['index_bytes'] / text:.2f}")
    print(f"build        {us(tide['build.build'])} us a message, worst step "
          f"{us(tide['build.build_worst_step'])} us; merge after ingest "
          f"{us(tide['merge.merge'])} us, worst {us(tide['merge.merge_worst_step'])} us")
    for name in ("push_median", "push_p99", "push_worst", "advance", "advance_worst"):
        print(f"{name:12} {us(tide['pushes_off.' + name])} us without, "
              f"{us(tide['pushes.' + name])} with search")
    print(f"\n{'query':12} {'plain':>10} {'sqlcipher':>10} {'Tideline':>10} {'ratio':>6} "
          f"{'after live':>10}")
    for name in QUERIES:
        ours = tide.get(f"queries.{name}")
        other = base.get(name)
        cipher = found.get("sqlcipher", {}).get(name)
        print(f"{name:12} {us(other) if other else '':>10} {us(cipher) if cipher else '':>10} "
              f"{us(ours) if ours else '':>10} "
              f"{ours / other if ours and other else 0:>6.2f} "
              f"{us(tide[f'after.queries.{name}']) if ours else '':>10}")


if __name__ == "__main__":
    main()
