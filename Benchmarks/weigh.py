"""What the library weighs: its size, how long it loads, the memory of a process that uses it.

    weigh.py [--messages N] [--conversations N] [--cache-kib N] [--loads N]

Loading is measured in turns beside a library of one function that is linked with the system's
SQLite and sodium, each time in a new process with all files in the system's cache. Prints a table
and writes `out/bench/weight.json`.
"""

import argparse
import json
import shutil
import statistics
import subprocess

import rows as bench
import run

OWN = bench.ROOT / "out" / "lib" / "libtideline.so.1"
# What `idle.c` tells, and what it is.
MEMORY = {
    "start_kib": "the program alone",
    "open_kib": "a file open",
    "screens_kib": "after a screen of each conversation",
    "long_kib": "with a window of 10,000 rows",
    "after_kib": "after that",
    "peak_kib": "peak",
}


def build():
    """The programs, and the library without its symbols of debugging, as a package has it."""
    stripped = bench.OUT / "stripped" / OWN.name
    stripped.parent.mkdir(exist_ok=True)
    shutil.copy(OWN, stripped)
    subprocess.run(["strip", str(stripped)], check=True)
    flags = ["gcc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2",
             f"-I{bench.ROOT / 'Include'}"]
    here, out = bench.HERE, bench.OUT
    for arguments in [
        [str(here / "load.c"), "-o", str(out / "load")],
        ["-fPIC", "-shared", str(here / "trivial.c"), "-lsqlite3", "-lsodium",
         "-o", str(out / "trivial.so")],
        [str(here / "idle.c"), str(stripped), f"-Wl,-rpath,{stripped.parent}",
         "-o", str(out / "idle")],
        ["-DIDLE_PLAIN", str(here / "idle.c"), "-lsqlite3", "-o", str(out / "idle-plain")],
    ]:
        subprocess.run([*flags, *arguments], check=True)
    return stripped


def told(command):
    """The figures that a program prints, by name."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures = (json.loads(line) for line in done.stdout.splitlines())
    return {figure["figure"]: figure.get("ns", figure.get("value")) for figure in figures}


def loads(stripped, count):
    """Medians in ns and KiB of both libraries."""
    given = {"tideline": [str(bench.OUT / "load"), str(stripped), "tl_version"],
             "trivial": [str(bench.OUT / "load"), str(bench.OUT / "trivial.so"),
                         "trivial_version"]}
    found = {name: [] for name in given}
    for number in range(count + 1):
        for name, command in given.items():
            figures = told(command)
            # The first brings the files into the system's cache.
            if number > 0:
                found[name].append(figures)
    return {name: {figure: statistics.median(one[figure] for one in figures)
                   for figure in ("load", "load_kib")} for name, figures in found.items()}


def memories(size, cache_kib):
    """What `idle.c` tells of Tideline and of plain SQLite."""
    found = {}
    for row in bench.prepare()[:2]:
        row.forget()
        run.measure(row, "ingest", size, cache_kib)
        program = "idle" if row.name == "Tideline" else "idle-plain"
        found[row.name] = told([str(bench.OUT / program), str(row.path),
                                str(size.conversations), str(cache_kib)])
        row.forget()
    return found


def table(result):
    """Markdown."""
    own, trivial = result["loads"]["tideline"], result["loads"]["trivial"]
    lines = [
        "| figure | Tideline | beside it |", "|---|---|---|",
        f"| size, stripped | {result['bytes']:,} bytes | – |",
        f"| load and one call | {own['load'] / 1000:,.0f} µs |"
        f" trivial: {trivial['load'] / 1000:,.0f} µs ({own['load'] / trivial['load']:.2f}) |",
        f"| its own memory by that | {own['load_kib']:,.0f} KiB |"
        f" trivial: {trivial['load_kib']:,.0f} KiB |",
    ]
    tide, plain = result["memory"]["Tideline"], result["memory"]["plain SQLite"]
    for name, what in MEMORY.items():
        title = what.replace("10,000", f"{tide['long_rows']:,.0f}")
        lines.append(f"| memory: {title} | {tide[name] / 1024:,.1f} MiB |"
                     f" plain: {plain[name] / 1024:,.1f} MiB |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--conversations", type=int, default=5)
    parser.add_argument("--cache-kib", type=int, default=16_384)
    parser.add_argument("--loads", type=int, default=101)
    given = parser.parse_args()
    size = bench.Size(given.messages, given.conversations)
    bench.OUT.mkdir(parents=True, exist_ok=True)
    stripped = build()
    memory = memories(size, given.cache_kib)
    result = {"machine": run.machine(), "messages": size.messages,
              "conversations": size.conversations, "cache_kib": given.cache_kib,
              "bytes": stripped.stat().st_size, "loads": loads(stripped, given.loads),
              "memory": memory}
    (bench.OUT / "weight.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{size.messages:,} messages in {size.conversations:,} conversations, a page cache of"
          f" {given.cache_kib / 1024:.0f} MiB; {result['machine']}\n")
    print(table(result))


if __name__ == "__main__":
    main()
