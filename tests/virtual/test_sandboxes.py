"""A guest's sandbox on machines that allow less: it is named, and the packets are the same."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest

from experiments.run.seed import limits_for
from experiments.spec import ExperimentSpec
from labs.measuring import references
from testbed.host.supervise import Limits
from testbed.lab import tools
from testbed.virtual import sandbox
from testbed.virtual.guest import require_limits
from testbed.virtual.sandbox import Supervised
from tests.virtual.conftest import ROOT, RunElsewhere, digests
from topologies.data import to_data
from topologies.errors import TcplabError

pytestmark = pytest.mark.virtual
NOBODY = 65534 if os.geteuid() == 0 else os.geteuid()
UNKNOWN = 54321 if os.geteuid() == 0 else os.geteuid()
"""A user without a name and a home, if this is root."""
JOBS = "tests.virtual.jobs"


def refusing(*names: str) -> list[str]:
    """The command that starts a program behind that filter."""
    return [sys.executable, str(ROOT / "tests/virtual/refusing.py"), ",".join(names)]


@pytest.fixture(scope="session")
def usual(ready_lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digests of the short study in the sandbox of this machine."""
    from experiments.sack import SackParameters, experiment
    from testbed.virtual.run import run_in_guest
    from topologies.data import to_data
    from topologies.units import Duration

    out = tmp_path_factory.mktemp("usual")
    spec = experiment(SackParameters(duration=Duration.parse("4s")))
    run_in_guest(ready_lab, "experiments.flows.procedure", to_data(spec), 7, out, lambda *_: None)
    return digests(out)


def test_without_bubblewrap_on_the_path_or_from_a_release(
    in_guest, short_sack: ExperimentSpec, usual, monkeypatch, ready_lab, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    for tool in ("chmod", "rm"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    absent = SimpleNamespace(place=tmp_path / "absent")
    monkeypatch.setattr(tools, "tools_recipe", lambda: absent)
    sandbox.allowed_sandbox.cache_clear()
    try:
        chosen = sandbox.allowed_sandbox(ready_lab.confine)
        assert chosen.kind is Supervised
        assert "not installed" in chosen.as_data()["refused"]["bubblewrap"]
        assert digests(in_guest(short_sack)[0]) == usual
    finally:
        sandbox.allowed_sandbox.cache_clear()


@pytest.mark.parametrize("user", sorted({os.geteuid(), NOBODY}))
def test_in_a_container_that_refuses_namespaces(elsewhere, usual, user) -> None:
    run = elsewhere({}, user, before=refusing("container"))
    assert run.sandbox.get("name") == "supervisor", run.sandbox
    assert "bubblewrap" in run.sandbox["refused"]
    assert run.digests == usual


def test_where_the_number_of_user_namespaces_is_zero(elsewhere, usual, tmp_path) -> None:
    """The sysctl belongs to a user namespace (namespaces(7)), so one is made to set it in."""
    closing = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
    before = ["unshare", "--user", "--map-root-user", "sh", "-c", closing, "sh"]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace can be made here, so none can be closed")
    run = elsewhere({"TMPDIR": str(tmp_path)}, os.geteuid(), before=before)
    assert run.sandbox.get("name") == "supervisor", run.sandbox
    assert run.digests == usual


@pytest.mark.needs("bwrap")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can install a program set-uid")
def test_a_set_uid_bubblewrap_is_not_used(elsewhere: Callable[..., RunElsewhere], usual) -> None:
    """It refuses to bound the sizes of a guest's folders (bwrap(1), --size)."""
    installed = shutil.which("bwrap")
    assert installed
    with TemporaryDirectory(dir="/var/tmp") as name:
        place = Path(name)
        place.chmod(0o755)
        shutil.copy(installed, place / "bwrap")
        (place / "bwrap").chmod(0o4755)
        run = elsewhere({"PATH": f"{place}:{os.environ['PATH']}"}, NOBODY)
    assert run.sandbox.get("name") == "supervisor", run.sandbox
    assert "--size" in run.sandbox["refused"]["bubblewrap"]
    assert run.digests == usual


def test_without_landlock_the_manifest_says_so(elsewhere, usual) -> None:
    run = elsewhere({}, NOBODY, before=refusing("container", "landlock"))
    assert run.sandbox["landlock"] == 0 and "no Landlock" in run.sandbox["missing"]
    assert run.digests == usual


def test_before_linux_6_3_the_stub_of_processes_is_a_file(elsewhere, usual) -> None:
    run = elsewhere({}, NOBODY, before=refusing("executable-memory"))
    assert run.sandbox.get("name") == "bubblewrap", run.sandbox
    assert run.digests == usual


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (("container", "notifications"), "supervisor of system calls watches this program"),
        (("container", "filters"), "seccomp=unconfined"),
    ],
)
def test_where_no_sandbox_works_a_sentence_says_why(elsewhere, refused, words) -> None:
    error = elsewhere({}, NOBODY, before=refusing(*refused)).sandbox["error"]
    assert "No sandbox for guests works on this system" in error and words in error
    assert "\n" not in error


def test_the_doctor_says_that_too_few_files_may_be_open(ready_lab) -> None:
    code = "ulimit -n 4096; exec " + f"{sys.executable} -m testbed.doctor"
    done = subprocess.run(["sh", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "ulimit -Hn says how many you may have" in " ".join(done.stdout.split())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make such a root without help")
@pytest.mark.parametrize("filtered", [(), ("container",)], ids=["namespaces", "supervisor"])
def test_a_bare_root_without_shared_memory_and_home(elsewhere, usual, filtered) -> None:
    """No /dev/shm, no home, and all is read-only but a temporary folder and the run."""
    devices = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
    bound = [word for name in devices for word in ("--dev-bind", f"/dev/{name}", f"/dev/{name}")]
    root = [*tools.bubblewrap_command(), "--ro-bind", "/", "/"]
    root += ["--tmpfs", "/dev", *bound, "--proc", "/proc"]
    root += ["--bind", "/var/tmp", "/var/tmp", "--perms", "1777", "--tmpfs", "/mnt"]
    become = ["setpriv", "--reuid", str(UNKNOWN), "--regid", str(UNKNOWN), "--clear-groups"]
    before = [*root, *become, *(refusing(*filtered) if filtered else [])]
    variables = {"HOME": "/nowhere", "TMPDIR": "/mnt"}
    run = elsewhere(variables, os.geteuid(), before=before, owner=UNKNOWN)
    assert run.sandbox.get("name") == ("supervisor" if filtered else "bubblewrap"), run.sandbox
    assert run.digests == usual


def test_a_limit_that_is_too_small_is_named(in_guest) -> None:
    """ulimit -v 700000: the guest needs its memory and 64 MiB."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if before[1] != resource.RLIM_INFINITY:
        pytest.skip("the limit of this process cannot be lowered and raised again")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resource, "getrlimit", lambda number: (700_000 << 10, 700_000 << 10))
        with pytest.raises(
            TcplabError, match=r"1,140,850,688 or more; the limit here is 716,800,000"
        ):
            in_guest({"job": "fail"}, module=JOBS, limits=Limits(memory_mib=1024))


def test_nothing_stays_of_a_supervised_guest(ready_lab, tmp_path, monkeypatch) -> None:
    from testbed.virtual.run import run_in_guest

    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    before = children.read_text()
    with pytest.raises(TcplabError, match="limit of 3 s"):
        run_in_guest(
            ready_lab,
            JOBS,
            {"job": "spin"},
            1,
            tmp_path,
            lambda *_: None,
            Limits(wall_seconds=3),
            sandbox=Supervised,
        )
    assert children.read_text() == before
    assert not [entry for entry in Path("/proc").iterdir() if _reads(entry, tmp_path)]


def _reads(process: Path, folder: Path) -> bool:
    try:
        return bytes(folder) in (process / "cmdline").read_bytes()
    except (OSError, ValueError):
        return False


@pytest.mark.parametrize("short_of", [0, 1])
def test_a_repeated_run_of_a_lab_may_have_its_memory_as_a_file(
    short_sack: ExperimentSpec, monkeypatch: pytest.MonkeyPatch, short_of: int
) -> None:
    """Without namespaces: a class that was graded in a container ended with SIGXFSZ."""
    most = references._allowance(to_data(short_sack), 60.0).file - short_of
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    of_files = {resource.RLIMIT_FSIZE: (most, most)}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: of_files.get(kind, unlimited))
    with pytest.raises(TcplabError, match="file size") if short_of else nullcontext():
        require_limits(limits_for(short_sack, 60.0))
