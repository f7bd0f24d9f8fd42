"""The guest's root file system: packages of a Debian release, squashed into one read-only file.

The packages of packages.lock give the same bytes: no script of a package runs, `configure` does
what they would, all times are 0 and all owners root. A guest is never reached from outside, so
updates are not used. No privilege, namespace or program of this machine is needed.
"""

import shutil
from pathlib import Path

from testbed.builds import Workshop, cache, need_space
from testbed.builds.cache import Facts, Recipe
from testbed.builds.debian import contents, extract, read_lock
from testbed.guest.programs import run
from testbed.lab.tools import LOCK as TOOLS_LOCK
from testbed.lab.tools import SQUASH, by_loader, fetched_command, sealed
from topologies.notation import toml_file

HERE = Path(__file__).parent
SUITE = "bookworm"
IMAGE = "image.squashfs"
PACKAGES = "packages.tsv"
PATIENT = "patient.so"
LOCK = HERE / "packages.lock"
BUILD_SPACE = 400_000_000  # bytes: unpacked 200 MB, image 60 MB

LEFT_OUT, LINKS, TEXTS = toml_file(HERE / "image.toml").values()
LEFT_OUT = tuple(LEFT_OUT)
MERGED = ("bin", "lib", "lib64", "sbin")
"""Folders of / that are links into /usr, as Debian's own installer makes them before it unpacks a
package.
"""
ACCOUNTS = ("passwd", "group")
_PYTHON = "usr/lib/python3.11"
# The root is read-only, so every start of Python would compile its modules again. The hash of the
# source instead of its time: the same bytes every time, and not checked at import. -B: what the
# compiler imports itself would be written with the time of its source.
COMPILE_PYTHON = (
    *("-I", "-S", "-B", "-m", "compileall", "-q", "-j", "0"),
    *("--invalidation-mode", "unchecked-hash", "-p", "/", "-s"),
)
_FLAGS = "-O2 -Wall -Wextra -shared -fPIC -s -Wl,--build-id=none -x c"
COMPILE = ("gcc", *_FLAGS.split(), "-o", PATIENT, "-")
# lz4: every run reads the image, and others take several times as long to unpack.
_OPTIONS = "-comp lz4 -all-root -no-xattrs -no-progress -quiet -all-time 0 -mkfs-time 0"
SQUASHED = ("root", IMAGE, *_OPTIONS.split())


def image_recipe() -> Recipe:
    files = (LOCK, HERE / "patient.c", TOOLS_LOCK)
    made = (sorted(LINKS.items()), sorted(TEXTS.items()), ACCOUNTS, COMPILE_PYTHON)
    steps = (LEFT_OUT, MERGED, *made, COMPILE, SQUASHED)
    return Recipe("image", files, (IMAGE, PACKAGES), build_image, steps=steps)


def patient_recipe() -> Recipe:
    """Return the recipe for the library that comes with the code: an image needs no compiler."""
    source = HERE / "patient.c"

    def build(workshop: Workshop) -> Facts:
        sealed(workshop, "gcc").run("Compiling patient.so", COMPILE, source=source)
        return {}

    return Recipe("patient", (source,), (PATIENT,), build, steps=COMPILE)


def build_image(workshop: Workshop) -> Facts:
    """Leave the image and its packages.tsv in the workshop. Raises TcplabError, CommandError."""
    need_space(workshop.folder.parent, BUILD_SPACE)
    versions = read_lock(LOCK).versions
    rows = (f"{name}\t{version}\n" for name, version in versions.items())
    (workshop.folder / PACKAGES).write_text("".join(rows))
    root = workshop.folder / "root"
    unpack(workshop, root)
    configure(root)
    compile_python(root)
    patient = cache.ready(patient_recipe(), workshop.report).folder / PATIENT
    (root / "usr/lib/tcplab").mkdir()
    (root / "usr/lib/tcplab").chmod(0o755)
    shutil.copy(patient, root / "usr/lib/tcplab")
    squash = fetched_command(SQUASH, workshop.report)
    workshop.report.step("Squashing the image")
    # Without SOURCE_DATE_EPOCH, which mksquashfs refuses next to -mkfs-time.
    run(["env", "-i", *squash, *SQUASHED], "", workshop.folder)
    shutil.rmtree(root)
    return {"suite": SUITE, "packages": versions}


def wanted() -> list[str]:
    """Return the packages of packages.txt, from which the lock is made."""
    lines = (HERE / "packages.txt").read_text().splitlines()
    return [row for line in lines if (row := line.partition("#")[0].strip())]


def unpack(workshop: Workshop, root: Path) -> None:
    """Unpack the packages into `root` without running their scripts. Raises TcplabError."""
    root.mkdir()
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for _, packed in contents(read_lock(LOCK), SUITE, workshop.report):
        extract(packed, root, lambda name: not name.startswith(LEFT_OUT))


def configure(root: Path) -> None:
    """Do what the packages' scripts would."""
    # Where the run's folder and the package's code are mounted.
    (root / "lab").mkdir()
    (root / "lab").chmod(0o755)
    for name, target in LINKS.items():
        link = root / name
        if link.is_dir() and not link.is_symlink():
            shutil.rmtree(link)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    for name, text in TEXTS.items():
        (root / name).write_text(text)
    for name in ACCOUNTS:
        shutil.copyfile(root / f"usr/share/base-passwd/{name}.master", root / "etc" / name)
    for name in (*TEXTS, *(f"etc/{name}" for name in ACCOUNTS)):
        (root / name).chmod(0o644)
    # The guest's own program, which is static.
    run([root / "usr/sbin/ldconfig", "-X", "-r", root], umask=0o022)
    shutil.rmtree(root / "var/cache/ldconfig")
    (root / "usr/sbin/ldconfig").unlink()


def compile_python(root: Path) -> None:
    """Compile the guest's modules by its own Python and C library. Raises CommandError."""
    # An absolute link, which would lead out of the root.
    site = root / _PYTHON / "sitecustomize.py"
    target = site.readlink()
    site.unlink()
    shutil.copy(root / str(target).lstrip("/"), site)  # with its mode, which the compiled one gets
    python = by_loader(root / "usr/lib/x86_64-linux-gnu", root / "usr/bin/python3.11")
    compiled = (root / _PYTHON, root / "usr/lib/python3")
    run([*python, *COMPILE_PYTHON, root, *compiled], umask=0o022)
    site.unlink()
    site.symlink_to(target)
