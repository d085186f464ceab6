"""The bill of materials: SPDX 2.3 as JSON, from the map that the linker wrote."""

import datetime
import hashlib
import os
import pathlib
import re
import subprocess
import urllib.parse
import uuid

from linked import needed, output

# By source package of Debian. Swift's runtime is not one.
LICENSES = {
    "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "libsodium": "ISC",
    "sqlite3": "blessing",
    "swift": "Apache-2.0 WITH Swift-exception",
}


def linked_files(link_map, root):
    """The archives and object files of others whose sections are in the library."""
    text = pathlib.Path(link_map).read_text(errors="replace")
    paths = set(re.findall(r"\s(/\S+?\.(?:a|o))(?:\(\S+\))?:\(", text))
    real = {os.path.realpath(path) for path in paths}
    return sorted(path for path in real if not path.startswith(f"{root}/"))


def source_of(path):
    """(source package, version, file with its licence) of a linked file."""
    if "/swift_static/" in path or "/swift/" in path:
        version = re.search(r"Swift version (\S+)", output("swift", "--version"))[1]
        return "swift", version, path.split("/lib/")[0] + "/share/swift/LICENSE.txt"
    # Before /usr was merged, packages named some of their files under /lib.
    for name in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if found.returncode == 0:
            package = found.stdout.split(": ")[0]
            source, version = output("dpkg-query", "-W", "-f=${source:Package} ${source:Version}",
                                     package).split()
            folder = package.split(":")[0]
            return source, version, f"/usr/share/doc/{folder}/copyright"
    raise SystemExit(f"sbom: no package has {path}, which was linked")


def parts(link_map, root):
    """{source package: (version, file with its licence)} of all that was linked."""
    found = {}
    for path in linked_files(link_map, root):
        source, version, text = source_of(path)
        found[source] = (version, text)
    for required in ("sqlite3", "libsodium", "swift"):
        if required not in found:
            raise SystemExit(f"sbom: {required} is not in the map of the linker")
    return found


def package(name, version, licence, **more):
    return {"name": name, "SPDXID": f"SPDXRef-{name}", "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", **more}


def purl(name, version):
    reference = f"pkg:deb/debian/{name}@{urllib.parse.quote(version)}?arch=source"
    if name == "swift":
        reference = f"pkg:generic/swift@{version}"
    return {"externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": reference}]}


def document(library, version, linked, when):
    """`linked` is what `parts` gives, `when` the seconds of SOURCE_DATE_EPOCH."""
    digest = hashlib.sha256(pathlib.Path(library).read_bytes()).hexdigest()
    packages = [package("libtideline", version, "Apache-2.0",
                        checksums=[{"algorithm": "SHA256", "checksumValue": digest}])]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-libtideline")]
    for name, (its_version, _) in sorted(linked.items()):
        licence = LICENSES[re.sub(r"-\d+$", "", name)]
        packages.append(package(name, its_version, licence, **purl(name, its_version)))
        relations.append(("SPDXRef-libtideline", "STATIC_LINK", f"SPDXRef-{name}"))
    for name in sorted(needed(library)):
        packages.append(package(name, "NOASSERTION", LICENSES["glibc"]))
        relations.append(("SPDXRef-libtideline", "DYNAMIC_LINK", f"SPDXRef-{name}"))
    created = datetime.datetime.fromtimestamp(when, datetime.timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"libtideline-{version}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: tideline-sbom"]},
        "packages": packages,
        "relationships": [{"spdxElementId": one, "relationshipType": kind,
                           "relatedSpdxElement": other} for one, kind, other in relations],
    }
