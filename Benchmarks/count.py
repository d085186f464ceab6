"""Counts the instructions of each figure: what noise cannot hide.

    count.py [--accept]

Runs Tideline and plain SQLite under callgrind on a small data set, prints instructions of one call
with their ratio, and compares them with `counts.json`, which `--accept` writes. Where the compiler
or a library is not the one of that file nothing is compared.
"""

import argparse
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import rows as bench

SIZE = bench.Size(20_000, 20)
CACHE_KIB = 16_384
READS = ["warm", "spread", "window", "jump", "scroll", "list"]
FIGURES = [*READS, "cold", "live_normal", "live_screen", "deletes", "ingest"]
# What plain SQLite has not.
OWN = {"window", "live_screen"}
KEPT = bench.HERE / "counts.json"
# What hash seeds and addresses move is less.
SLACK = 1.03
# A live message through window, items and viewport, beside the window's alone.
SCREEN_MAX = 1.3


def build():
    """Both programs, and the library without what callgrind cannot read."""
    bench.schema()
    folder = bench.OUT / "count"
    folder.mkdir(parents=True, exist_ok=True)
    own = bench.ROOT / "out" / "lib" / "libtideline.so.1"
    shutil.copy(own, folder / own.name)
    subprocess.run(["strip", "-g", str(folder / own.name)], check=True)
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-DBENCH_COUNT",
             f"-I{bench.ROOT / 'Include'}"]
    for name, libraries in [("tide", [str(folder / own.name), f"-Wl,-rpath,{folder}"]),
                            ("storage", ["-lsqlite3"])]:
        subprocess.run(["gcc", *flags, str(bench.HERE / f"{name}.c"), str(bench.HERE / "data.c"),
                        *libraries, "-o", str(folder / name)], check=True)
    return folder


def command(folder, name, file, figure):
    given = [str(folder / name), str(file)]
    if name == "storage":
        given += ["", str(bench.OUT / "schema.sql")]
    given += [str(SIZE.messages), str(SIZE.conversations), str(CACHE_KIB)]
    return given + (["count", figure] if figure in READS else [figure])


def count(folder, name, figure):
    """Instructions of one; None for what there is not."""
    if name == "storage" and figure in OWN:
        return None
    made, file = folder / f"{name}.db", folder / f"{name}-{figure}.db"
    file.unlink(missing_ok=True)
    if figure != "ingest":
        if not made.exists():
            subprocess.run(command(folder, name, made, "ingest"), check=True, capture_output=True)
        shutil.copy(made, file)
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--collect-atstart=no",
         f"--callgrind-out-file={folder}/{name}.{figure}.out",
         *command(folder, name, file, figure)],
        capture_output=True, text=True, check=True)
    times = json.loads(done.stdout.splitlines()[-1])["count"]
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1)) / times


def versions():
    """What the counts depend on beside this project. Of machines with AVX2 one counts what another
    does, but for a hundredth."""
    def line(*given):
        done = subprocess.run(given, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[0]
    found = {name: line("pkg-config", "--modversion", name) for name in ("sqlite3", "libsodium")}
    return found | {"swift": line("swift", "--version"), "libc": platform.libc_ver()[1],
                    "avx2": "avx2" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accept", action="store_true")
    accept = parser.parse_args().accept
    folder = build()
    for old in folder.glob("*.db*"):
        old.unlink()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"versions": None}
    used = versions()
    found, worse = {}, []
    print("| figure | Tideline | plain SQLite | ratio | before |\n|---|---|---|---|---|")
    for figure in FIGURES:
        own, plain = (count(folder, name, figure) for name in ("tide", "storage"))
        found[figure] = round(own)
        before = kept["counts"].get(figure) if kept["versions"] == used else None
        ratio = f"{own / plain:.2f}" if plain else "–"
        cells = [figure, f"{own:,.0f}", f"{plain or 0:,.0f}", ratio, f"{before or 0:,}"]
        print("| " + " | ".join(cells) + " |", flush=True)
        if before and own > before * SLACK:
            worse.append(figure)
    screen = found["live_screen"] / found["live_normal"]
    print(f"\na live message with items and viewport: {screen:.2f} of the window's alone")
    if screen > SCREEN_MAX:
        sys.exit(f"more than {SCREEN_MAX}")
    if accept:
        KEPT.write_text(json.dumps({"versions": used, "counts": found}, indent=1) + "\n")
    elif worse:
        sys.exit(f"more instructions than counts.json allows: {', '.join(worse)}")


if __name__ == "__main__":
    main()
