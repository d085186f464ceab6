"""The wheel: the Python package with the library inside of it."""

import base64
import hashlib
import io
import json
import time
import tomllib
import zipfile

from trees import ROOT, licences, python_files

KNOWN = {"name", "version", "description", "readme", "requires-python", "license",
         "optional-dependencies", "scripts"}


def metadata(project, texts):
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", "License-Expression: Apache-2.0",
             *[f"License-File: {name}" for name in texts],
             f"Requires-Python: {project['requires-python']}",
             "Description-Content-Type: text/markdown"]
    for extra, wanted in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {one}; extra == "{extra}"' for one in wanted]
    return "\n".join(lines) + "\n\n" + (ROOT / "examples/python" / project["readme"]).read_text()


def write(folder, library, version, tag, linked, bill, when):
    """Writes the wheel for the platforms of `tag` into `folder` and gives its path."""
    project = tomllib.loads((ROOT / "examples/python/pyproject.toml").read_text())["project"]
    if unknown := set(project) - KNOWN:
        raise SystemExit(f"wheel: pyproject.toml has {sorted(unknown)}, which no wheel gets")
    if project["version"] != version:
        raise SystemExit(f"wheel: pyproject.toml has version {project['version']}, not {version}")
    texts = licences(linked)
    info = f"{project['name']}-{version}.dist-info"
    content = {str(inside): path.read_bytes() for inside, path in python_files()}
    content["tideline/libtideline.so.1"] = library.read_bytes()
    content[f"{info}/METADATA"] = metadata(project, texts).encode()
    content[f"{info}/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: tideline\n"
                                f"Root-Is-Purelib: false\nTag: py3-none-{tag}\n").encode()
    commands = "".join(f"{name} = {place}\n" for name, place in project["scripts"].items())
    content[f"{info}/entry_points.txt"] = f"[console_scripts]\n{commands}".encode()
    manual = f"{project['name']}-{version}.data/data/share/man/man1/tideline.1"
    content[manual] = (ROOT / "examples/python/man/tideline.1").read_bytes()
    content[f"{info}/sboms/sbom.spdx.json"] = (json.dumps(bill, indent=1) + "\n").encode()
    for name, path in texts.items():
        content[f"{info}/licenses/{name}"] = path.read_bytes()
    record = io.StringIO()
    for name, data in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.write(f"{name},sha256={digest},{len(data)}\n")
    record.write(f"{info}/RECORD,,\n")
    content[f"{info}/RECORD"] = record.getvalue().encode()
    path = folder / f"{project['name']}-{version}-py3-none-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name, time.gmtime(when)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
            archive.writestr(entry, data)
    return path
