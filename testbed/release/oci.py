"""The container image of a release, made without a daemon: an OCI image layout in a tar.

Its lower layer is the guest's image, a Debian with Mininet, iperf, tcpdump and Python. The upper
one is the archive. `docker load`, `podman load` and `skopeo copy oci-archive:FILE` take it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

from testbed import VERSION
from testbed.release.archive import called, pack, write_tar

NAME = f"tcplab-{VERSION}-oci.tar"
PLACE = "opt/tcplab"
_TYPE = "application/vnd.oci.image"
_SETTINGS = {
    "Entrypoint": [f"/{PLACE}/tcplab"],
    "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "LC_ALL=C.UTF-8"],
    "WorkingDir": "/work",
    "Labels": {
        "org.opencontainers.image.title": "tcplab",
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": "MIT AND GPL-2.0-only",
    },
}


def make_oci(tree: Path, image: Path, work: Path) -> Path:
    """Return the image of an archive's tree on the guest's root. Raises CommandError."""
    layout, root, top = work / "oci", work / "oci-root", work / "oci-top"
    (layout / "blobs/sha256").mkdir(parents=True)
    called(["unsquashfs", "-no-progress", "-no-xattrs", "-dest", root, image], work)
    (top / "work").mkdir(parents=True)
    (top / "work").chmod(0o1777)
    (top / "usr/local/bin").mkdir(parents=True)
    (top / "usr/local/bin/tcplab").symlink_to(f"/{PLACE}/tcplab")
    shutil.copytree(tree, top / PLACE, symlinks=True)
    made = [_layer(layout, folder) for folder in (root, top)]
    settings = {
        "architecture": "amd64",
        "os": "linux",
        "config": _SETTINGS,
        "rootfs": {"type": "layers", "diff_ids": [plain for plain, _ in made]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_TYPE}.manifest.v1+json",
        "config": _blob(layout, "config.v1+json", _json(settings)),
        "layers": [layer for _, layer in made],
    }
    listed = _blob(layout, "manifest.v1+json", _json(manifest))
    listed["annotations"] = {"org.opencontainers.image.ref.name": VERSION}
    (layout / "index.json").write_bytes(_json({"schemaVersion": 2, "manifests": [listed]}))
    (layout / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
    with (work / NAME).open("wb") as target:
        write_tar(layout, target)
    return work / NAME


def _layer(layout: Path, folder: Path) -> tuple[str, dict[str, Any]]:
    """Add a folder as a layer; return the digest of its tar and the layer's descriptor."""
    packed = io.BytesIO()
    pack(folder, packed)
    content = packed.getvalue()
    return _digest(gzip.decompress(content)), _blob(layout, "layer.v1.tar+gzip", content)


def _blob(layout: Path, kind: str, content: bytes) -> dict[str, Any]:
    """Add content to the layout and return its descriptor."""
    digest = _digest(content)
    (layout / "blobs" / digest.replace(":", "/")).write_bytes(content)
    return {"mediaType": f"{_TYPE}.{kind}", "digest": digest, "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
