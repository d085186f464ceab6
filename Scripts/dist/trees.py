"""The files of a tarball and of Debian packages, laid out in folders."""

import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent


def put(target, content, mode=0o644):
    """Writes a text, or copies a file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        target.write_text(content)
    else:
        shutil.copyfile(content, target)
    target.chmod(mode)


def put_library(folder, library, version):
    put(folder / f"libtideline.so.{version}", library)
    (folder / "libtideline.so.1").symlink_to(f"libtideline.so.{version}")


def put_development(prefix, libraries, version, fixed):
    """Header, link, pkg-config file and CMake package. `libraries` is the folder of libraries below
    `prefix`; where the prefix is not `fixed`, the files find it by where they are."""
    depth = "/".join([".."] * (len(pathlib.PurePath(libraries).parts) + 2))
    pkg_config = (ROOT / "tideline.pc.in").read_text()
    pkg_config = pkg_config.replace("@VERSION@", version)
    if fixed:
        pkg_config = pkg_config.replace("@PREFIX@", fixed)
    else:
        pkg_config = pkg_config.replace("@PREFIX@", "${pcfiledir}/../..")
    pkg_config = pkg_config.replace("libdir=${prefix}/lib", f"libdir=${{prefix}}/{libraries}")
    for name in ("tideline.h", "tideline.hpp", "tideline_json.h"):
        put(prefix / "include" / name, ROOT / "Include" / name)
    put(prefix / libraries / "pkgconfig" / "tideline.pc", pkg_config)
    for name in ("tideline-config.cmake", "tideline-config-version.cmake"):
        text = (HERE / name).read_text().replace("@VERSION@", version)
        text = text.replace("@PREFIX@", f"${{CMAKE_CURRENT_LIST_DIR}}/{depth}")
        text = text.replace("@LIBDIR@", libraries)
        put(prefix / libraries / "cmake" / "tideline" / name, text)
    (prefix / libraries / "libtideline.so").symlink_to("libtideline.so.1")


def licences(linked):
    """{file name: path} of the licences of the library and of all that is linked into it."""
    texts = {"tideline.txt": ROOT / "LICENSE"}
    for name, (_, path) in sorted(linked.items()):
        texts[f"{name}.txt"] = pathlib.Path(path).resolve()
    return texts


def python_files():
    """(path in the package, path here) of the Python package, links followed."""
    source = ROOT / "examples" / "python" / "src"
    kinds = {".py", ".pyi", ".c", ".h", ".typed", ""}
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        hidden = {"__pycache__"} & set(inside.parts) or ".egg-info" in str(inside)
        if path.is_file() and not hidden and (path.suffix in kinds or path.name == "py.typed"):
            yield inside, path.resolve()
