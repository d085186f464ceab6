"""What is measured: each row is a way to keep the same messages.

SQLCipher as Debian has it is a row where `libsqlcipher0` is installed and knows the tables: some
releases have one over the SQLite of 2016, which knows no generated columns.
"""

import ctypes
import dataclasses
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = ROOT / "out" / "bench"
PACKAGES = ["sqlcipher3", "apsw-sqlite3mc", "deltachat-rpc-server", "orjson", "pynacl",
            "matplotlib"]
KEY = "07" * 32


@dataclasses.dataclass(frozen=True)
class Row:
    """One way. `host` says how its program is loaded, `prelude` gives the key, `module` is what
    Python programs use it by; `lacks` names the commands that it cannot do."""

    name: str
    host: tuple
    program: str
    prelude: str = ""
    module: str = ""
    lacks: tuple = ()

    @property
    def path(self):
        return OUT / "files" / (self.name.replace(" ", "-") + ".db")

    def command(self, what, size, cache_kib):
        """The command line of one measurement."""
        if what == "python":
            return [str(OUT / "venv/bin/python"), str(HERE / "calls.py"), self.module,
                    str(self.path), self.prelude, str(size.messages), str(size.conversations),
                    str(cache_kib)]
        if self.program.endswith(".py"):
            return [str(OUT / "venv/bin/python"), str(HERE / self.program), str(self.path),
                    str(size.messages), str(size.conversations), what]
        rest = [str(self.path)]
        if self.program == "storage.so":
            rest += [self.prelude, str(OUT / "schema.sql")]
        rest += [str(size.messages), str(size.conversations), str(cache_kib), what]
        return [str(OUT / "venv/bin/python"), str(HERE / "host.py"), *self.host,
                str(OUT / self.program), *rest]

    def bytes(self):
        """What it takes on the disk."""
        if self.path.is_dir():
            return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())
        return self.path.stat().st_size

    def forget(self):
        """Begins anew, with nothing."""
        if self.path.is_dir():
            shutil.rmtree(self.path)
        for end in ("", "-wal", "-shm", "-journal"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)


@dataclasses.dataclass(frozen=True)
class Size:
    """How much of it."""

    messages: int
    conversations: int


def library(name):
    """The path of a shared library of the system, or None."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True)
    found = re.search(rf"\b{re.escape(name)} .*=> (\S+)", listed.stdout)
    return found.group(1) if found else None


def schema():
    """The tables of the library, word for word."""
    OUT.mkdir(parents=True, exist_ok=True)
    source = (ROOT / "Sources/Store/Schema/SchemaTables.swift").read_text()
    text = "\n".join(re.findall(r'"""\n(.*?)"""', source, re.S))
    (OUT / "schema.sql").write_text(text)


def processor():
    """What this machine's processor is called."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def vault():
    """The vault without what Tideline has over it, built as the library is; gives its path."""
    made = ROOT / ".build-rel"
    system = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX")}
    system["TL_BENCHMARKS"] = "1"
    subprocess.run(["swift", "build", "-c", "release", "--product", "vault-alone",
                    "--static-swift-stdlib", "--scratch-path", str(made),
                    "--disable-local-rpath"], cwd=ROOT, env=system, check=True,
                   stdout=subprocess.DEVNULL)
    return shutil.copy(made / "release" / "libvault-alone.so", OUT)


def environment():
    """Installs what is compared; gives its Python."""
    venv = OUT / "venv"
    if not (venv / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    subprocess.run([str(venv / "bin/pip"), "install", "-q", *PACKAGES], check=True)
    return venv / "bin/python"


def prepare():
    """Builds the programs, makes the schema, installs what is compared; gives the rows."""
    (OUT / "files").mkdir(parents=True, exist_ok=True)
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared",
             "-fvisibility=hidden", f"-I{ROOT / 'Include'}"]
    own = ROOT / "out" / "lib"
    data = str(HERE / "data.c")
    subprocess.run(["gcc", *flags, str(HERE / "storage.c"), data, "-o", str(OUT / "storage.so")],
                   check=True)
    subprocess.run(["gcc", *flags, str(HERE / "tide.c"), data, f"-L{own}", "-ltideline",
                    f"-Wl,-rpath,{own}", "-o", str(OUT / "tide.so")], check=True)
    subprocess.run(["gcc", *flags, "-fvisibility=default", data, "-o", str(OUT / "data.so")],
                   check=True)
    schema()
    environment()
    rows = [
        Row("Tideline", ("tideline",), "tide.so", module="tideline"),
        Row("plain SQLite", ("sqlite", library("libsqlite3.so.0")), "storage.so",
            module="sqlite3"),
        Row("SQLCipher", ("module", "sqlcipher3"), "storage.so", f"PRAGMA key=\"x'{KEY}'\"",
            module="sqlcipher3"),
        Row("SQLite3MultipleCiphers", ("module", "apsw"), "storage.so",
            f"PRAGMA cipher='chacha20'; PRAGMA key='raw:{KEY}'", module="apsw"),
    ]
    rows.append(Row("the vault alone", ("sqlite", library("libsqlite3.so.0")), "storage.so",
                    f"vault:{vault()}", lacks=("python",)))
    rows.append(Row("plain SQLite (newest)", ("module", "apsw"), "storage.so", module="apsw"))
    debian = library("libsqlcipher.so.0")
    # The number of the version in which tables may be strict.
    if debian and ctypes.CDLL(debian).sqlite3_libversion_number() >= 3_037_000:
        rows.append(Row("SQLCipher (Debian)", ("sqlite", debian), "storage.so",
                        f"PRAGMA key=\"x'{KEY}'\";PRAGMA cipher_page_size=4096",
                        lacks=("python",)))
    return rows + [
        Row("JSON file", (), "json_file.py", lacks=("python", "small", "live_facts", "cold_facts")),
        Row("Delta Chat core", (), "chat_core.py",
            lacks=("python", "small", "live_full", "live_facts", "cold_facts")),
    ]
