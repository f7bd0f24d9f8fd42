"""The environment of a checkout: its Python libraries, installed by the launcher.

The standard library only, because libraries come later. An environment is ready if its stamp, which
is written last, has the state of the locks. It finds the checkout by a relative path.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import VERSION
from testbed.builds import BuildReport, Workshop, cache
from testbed.builds.cache import Facts, Recipe
from testbed.builds.debian import contents, extract, read_lock
from testbed.host import CODE, command, scratch
from testbed.host.processes import invoking_user
from testbed.lab.ready import parts
from topologies.errors import CommandError, TcplabError
from topologies.notation import toml_file

PIP_LOCK = CODE / "locks/pip.lock"
PIP_SUITE = "trixie"
PIP = "pip.whl"
_PIP_SCRIPT = """\
#!/bin/sh
exec "${0%/*}/python" -P "${0%/*}/../pip.whl/pip" "$@"
"""
MARK = "made-by-tcplab"
CONTAINED = {
    "python": (),
    "figures": (),
    "docs": ("python",),
    "test": ("docs", "figures", "python"),
}
"""Locks, and the smaller ones whose packages they have too."""
_ALSO = {"test": ("build",)}
_SHOWN = ("Downloading", "Building")
_AGAIN = "and start again; what is whole is kept."
_CAUSES = {  # in the words of pip and uv
    "No space left on device": ("The disk is full.", f"Make room {_AGAIN}"),
    **dict.fromkeys(
        ("NewConnectionError", "error sending request", "dns error"),
        ("The index of Python packages cannot be reached.", f"Connect to a network {_AGAIN}"),
    ),
}
_NEED_LAB = ("exec", "play", "reproduce", "run", "sweep", "test")
_NEED_NO_LAB = {"-h", "--help", "--list", "--dry-run", "native", "--testbed=native"}


@dataclass(frozen=True)
class Environment:
    """A virtual environment at `place`, over the Python that runs this."""

    place: Path

    @property
    def python(self) -> Path:
        return self.place / "bin" / "python"

    @property
    def libraries(self) -> Path:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.place / "lib" / version / "site-packages"

    def stamp(self, lock: str) -> Path:
        return self.place / f"stamp-{lock}"

    def is_ready(self, lock: str, state: str) -> bool:
        """Check that this lock was installed in this state."""
        stamp = self.stamp(lock)
        return self.python.exists() and stamp.exists() and stamp.read_text() == state


def make_ready(environment: Environment, lock: str, state: str) -> None:
    """Install a lock, unless another start does so meanwhile. Raises TcplabError."""
    place = environment.place
    place.parent.mkdir(parents=True, exist_ok=True)
    with scratch.gate(place.with_name(f"{place.name}.lock")):
        if environment.is_ready(lock, state):
            return
        if place.is_symlink():
            problem = f"{place} is a link to another environment."
            raise TcplabError(problem, f"Remove the link: rm {place}")
        # An empty folder may be a mount.
        if place.exists() and any(place.iterdir()) and not (place / MARK).exists():
            problem = f"{place} was not made by tcplab."
            raise TcplabError(problem, f"Move it away: mv {place} {place}-mine")
        if not works(environment):
            create(environment)
        for stamp in place.glob("stamp-*"):
            if stamp.read_text() != state:  # locks of one state have the same versions
                stamp.unlink()
        install(environment, lock)
        link_checkout(environment)
        for name in (*CONTAINED[lock], lock):
            environment.stamp(name).write_text(state)
        if owner := invoking_user():  # under sudo everything still belongs to who typed it
            for path in (place, *place.rglob("*")):
                os.chown(path, *owner, follow_symlinks=False)


def works(environment: Environment) -> bool:
    """Check that the environment is whole and over this version of Python."""
    place = environment.place
    needed = (place / MARK, place / PIP, environment.libraries, environment.python)
    if not all(map(Path.exists, needed)):
        return False
    tried = subprocess.run([environment.python, "-c", ""], check=False, capture_output=True)
    return tried.returncode == 0


def create(environment: Environment) -> None:
    """Make an environment, with pip as a wheel; what a broken one left is removed."""
    place = environment.place
    _say(f"making {place}")
    place.mkdir(exist_ok=True)
    (place / MARK).touch()
    for left in place.iterdir():  # not the folder, which may be a mount
        if left.name != MARK:
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
    if uv := shutil.which("uv"):
        options = ["--allow-existing", "--system-site-packages", "--python"]
        run([uv, "venv", *options, sys.executable, place])
    else:
        run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", place])
    shutil.copyfile(cache.ready(pip_recipe(), BuildReport()).folder / PIP, place / PIP)
    (place / "bin/pip").write_text(_PIP_SCRIPT)
    (place / "bin/pip").chmod(0o755)


def install(environment: Environment, lock: str) -> None:
    """Install the locked versions, each checked by its SHA-256. Raises CommandError."""
    matplotlib = "installing Matplotlib, once, for figures"
    _say(matplotlib if lock == "figures" else "installing Python libraries")
    files = [CODE / "locks" / f"{name}.lock" for name in (lock, *_ALSO.get(lock, ()))]
    wanted = [word for file in files for word in ("--requirement", file)]
    if uv := shutil.which("uv"):
        run([uv, "pip", "install", "--python", environment.python, "--require-hashes", *wanted])
        return
    # Python compiles what it imports: all that is never imported would be 60 MB more.
    options = ["--disable-pip-version-check", "--progress-bar", "off", "--no-compile"]
    options += ["--retries", "2"]  # its own five take 8 s where there is no network
    pip = environment.place / "bin/pip"
    run([pip, "install", *options, "--require-hashes", *wanted])


def pip_recipe() -> Recipe:
    """Return the recipe for pip as one file: Debian's Python has none until it is installed."""

    def build(workshop: Workshop) -> Facts:
        ((_, packed),) = contents(read_lock(PIP_LOCK), PIP_SUITE, workshop.report)
        extract(packed, workshop.folder, lambda name: name.endswith(".whl"))
        (wheel,) = workshop.folder.glob("usr/share/python-wheels/pip-*.whl")
        wheel.rename(workshop.folder / PIP)
        return {}

    return Recipe("pip", (PIP_LOCK,), (PIP,), build)


def link_checkout(environment: Environment) -> None:
    """Put the checkout on the environment's path, with its entry points."""
    own = environment.place.parent == CODE
    way = os.path.relpath(CODE, environment.libraries) if own else CODE
    (environment.libraries / "tcplab.pth").write_text(f"{way}\n")
    for earlier in environment.libraries.glob("tcplab-*.dist-info"):
        shutil.rmtree(earlier)
    about = environment.libraries / f"tcplab-{VERSION}.dist-info"
    about.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: tcplab\nVersion: {VERSION}\n"
    (about / "METADATA").write_text(metadata)
    lines = []
    for group, entries in toml_file(CODE / "pyproject.toml")["project"]["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in entries.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")


def run(command: Sequence[str | Path]) -> None:
    """Run a command, showing what it fetches. Raises TcplabError with the cause, or all output."""
    printed = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout, "a pipe"
        for line in process.stdout:
            printed.append(line)
            if line.strip().startswith(_SHOWN):
                print(f"  {line.strip()}", file=sys.stderr)
    output = "".join(printed)
    if process.returncode:
        for sign, problem_and_remedy in _CAUSES.items():
            if sign in output:
                raise TcplabError(*problem_and_remedy)
        remedy = f"Correct what it names {_AGAIN}"
        raise CommandError(" ".join(map(str, command)), process.returncode, output, remedy)


def _say(text: str) -> None:
    print(f"tcplab: {text}", file=sys.stderr)


def needs_lab(words: Sequence[str]) -> bool:
    """Check for a command line whose first start needs the lab."""
    return bool(words) and words[0] in _NEED_LAB and not _NEED_NO_LAB & {*words}


def main(place: str, lock: str, state: str, *words: str) -> None:
    """Make the environment at `place` ready for a command, or exit with one message."""
    try:
        if needs_lab(words) and not cache.manifest_of(parts()[-1]):
            # The command that needs the image reports a failure of its making.
            quiet = subprocess.DEVNULL
            subprocess.Popen(command("testbed.lab.ready"), stdin=quiet, stdout=quiet, stderr=quiet)
        make_ready(Environment(Path(place)), lock, state)
    except TcplabError as error:
        sys.exit(f"tcplab: {error}")
    except KeyboardInterrupt:
        _say("stopped. Start again; what is whole is kept.")
        sys.exit(130)
    except OSError as error:
        sys.exit(f"tcplab: {place} cannot be made: {error.strerror}: {error.filename}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
