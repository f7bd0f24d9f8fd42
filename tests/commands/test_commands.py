"""The command line: options from parameters, one clear message, nothing started by mistake."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from experiments.cli.commands import one_clear_message, tcplab
from experiments.cli.main import _ended_by_ctrl_c
from experiments.cli.options import options_from
from experiments.cli.run import command_of
from experiments.run.request import RunOptions
from experiments.study.catalogue import catalogue, find
from testbed.builds import cache
from testbed.builds.engine import engine_recipe
from testbed.host import in_virtual_environment
from topologies.units import Duration, Share

ROOT = Path(__file__).resolve().parents[2]


def invoke(*words: str) -> Result:
    return CliRunner().invoke(tcplab, words)


def test_the_list_names_every_experiment_with_its_claim() -> None:
    listing = invoke("--list").output
    for named in catalogue():
        assert named.name in listing and named.claim in listing
        assert named.claim.endswith(".") and named.spec(named.parameters()()).name == named.name


def test_help_names_each_parameter_with_its_default() -> None:
    help_text = " ".join(CliRunner().invoke(command_of(find("sack")), ["--help"]).output.split())
    for part in (
        "--bw RATE",
        "[default: 1mbit]",
        "--delay DURATION",
        "--loss SHARE",
        "--queue PACKETS",
        "--window SIZE",
    ):
        assert part in help_text


def test_a_dry_run_prints_the_spec_and_runs_nothing(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        command_of(find("sack")),
        ["--dry-run", "--bw", "2mbit", "--jitter", "5ms", "--out", str(tmp_path / "runs")],
    )
    assert done.exit_code == 0
    spec = json.loads(done.stdout)
    assert spec["parameters"]["bw"] == "2mbit"
    assert {
        link["rightward"]["jitter"] for link in spec["topology"]["links"] if link["rightward"]
    } == {"5ms"}
    assert not (tmp_path / "runs").exists()


def asked_for(*words: str) -> RunOptions:
    """The options that the command of `sack` makes of these words."""
    named = find("sack")
    with command_of(named).make_context("sack", list(words)) as context:
        return options_from(context, named)


def test_a_value_is_parsed_once_and_goes_into_the_spec_as_it_is() -> None:
    options = asked_for("--delay", "123ms", "--set", "loss=1%")
    channels = [link.rightward for link in options.run.spec.topology.links if link.rightward]
    assert options.typed == {"delay": Duration.parse("123ms")}
    assert all(channel.delay is options.typed["delay"] for channel in channels)
    assert options.run.parameters.delay is options.typed["delay"]
    assert options.run.parameters.loss == Share.parse("1%")


def test_what_is_typed_replaces_the_form() -> None:
    named = find("sack_loss_sweep")
    assert "duration" in named.preset("quick")
    with command_of(named).make_context("x", ["--quick", "--delay", "7ms"]) as context:
        options = options_from(context, named)
    assert str(options.parameters.duration) == named.preset("quick")["duration"]
    with command_of(named).make_context("x", ["--quick", "--duration", "9s"]) as context:
        options = options_from(context, named)
    assert options.parameters.duration == Duration.parse("9s")
    assert list(options.typed) == ["duration"]


def test_a_command_without_a_lab_loads_nothing_of_it() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "experiments.cli.main", "analyze"]
    done = subprocess.run(
        [*command, "--columns"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "experiments.cli.commands" in done.stderr
    assert "testbed.lab" not in done.stderr and "experiments.spec" not in done.stderr


PLAIN_RUN = """
import sys
import experiments.run.session
from experiments.run.session import _published
from experiments.cli.run import command_of
from experiments.cli.commands import one_clear_message
from experiments.cli.options import options_from
from experiments.study.catalogue import find
named = find("sack")
words = ["--testbed", "virtual", "--delay", "30ms", "--set", "loss=1%"]
with command_of(named).make_context("sack", words) as context:
    request = options_from(context, named).request()
assert request.spec.flows and _published(request) == ()
print(*(name for name in sys.modules if name.startswith("experiments.sweep")))
"""


def test_a_plain_run_knows_nothing_of_sweeps() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAIN_RUN], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep-it"], "No such command"),
        (["sweeep"], "Did you mean 'sweep'?"),
        (["kernel", "liste"], "Did you mean 'list'?"),
        (["runs", "nonesuch"], "There are gc, list, show."),
        (["runs", "list", "--out", "nowhere"], "There is no folder nowhere."),
        (["open", "--out", "nowhere"], "There is no folder nowhere."),
        (["sweep", "nowhere.toml"], "nowhere.toml cannot be read: No such file or directory."),
        (["exec", "--server", "'", "--", "true"], "has no closing quotation"),
        (["image", "import", "nowhere"], "does not exist"),
    ],
)
def test_what_is_misspelt_or_impossible_is_one_message_and_exit_status_2(words, message) -> None:
    done = invoke(*words)
    assert done.exit_code == 2
    assert message in done.output and "Traceback" not in done.output


def test_native_without_root_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    done = invoke("run", "sack", "--testbed", "native")
    assert done.exit_code == 1 and "sudo" in done.output


def test_another_processor_is_told_what_it_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    done = invoke("run", "sack", "--testbed", "virtual")
    assert (
        done.exit_code == 1 and "x86-64 only" in done.output and "--testbed native" in done.output
    )


@pytest.mark.parametrize("line", ["exec -- true", "sweep sack", "kernel test", "image build"])
def test_another_processor_unpacks_no_lab(line: str, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    monkeypatch.setenv("TCPLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    done = invoke(*line.split())
    assert "x86-64 only" in str(done.output) + str(done.exception)
    assert not (tmp_path / "cache").exists()


def test_another_processor_compiles_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.prebuilt_manifest("engine", engine_recipe().key)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert not cache.prebuilt_manifest("engine", engine_recipe().key)


def test_module_and_command_take_the_same_words() -> None:
    words = [sys.executable, "-m"]
    outputs = [
        subprocess.run(
            [*words, *module, "--dry-run"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        for module in (
            ["experiments.sack"],
            ["experiments", "sack"],
            ["experiments.cli.main", "run", "sack"],
        )
    ]
    assert outputs[0] == outputs[1] == outputs[2]


def test_a_python_without_the_libraries_goes_on_in_ours(monkeypatch, tmp_path) -> None:
    """`sudo python3` is another Python, without our libraries; it must not fail for that."""
    started: list[list[str]] = []
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setattr("os.execv", lambda path, words: started.append([str(path), *words]))
    monkeypatch.setattr("testbed.host._ENVIRONMENT", tmp_path)
    with pytest.raises(SystemExit, match="tcplab"):
        in_virtual_environment()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    monkeypatch.setattr(sys, "orig_argv", ["python3", "-m", "experiments.sack", "--seed", "3"])
    in_virtual_environment()
    python = str(tmp_path / "bin" / "python")
    assert started == [[python, python, "-m", "experiments.sack", "--seed", "3"]]


def test_a_limit_of_addresses_that_is_too_small_is_named() -> None:
    """With 700,000 KiB this process can start no thread: the limit is looked at before."""
    run = f"{sys.executable} -m experiments.cli.main run sack --repeat 1"
    command = ["sh", "-c", f"ulimit -v 700000; {run}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "1,140,850,688 or more; the limit here is 716,800,000" in done.stderr
    assert "Traceback" not in done.stderr


def test_too_little_memory_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), one_clear_message():
        raise MemoryError
    assert "ulimit -v" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["docs"], ["release"]])
def test_a_folder_that_cannot_be_written_is_refused_at_once(command: list[str]) -> None:
    done = CliRunner().invoke(tcplab, [*command, "--out", "/proc/x"])
    sentence = "Error: /proc/x cannot be written: No such file or directory. Use --out with"
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert done.output.startswith(sentence)


def test_help_lists_commands_in_groups_and_whole_claims() -> None:
    listed = CliRunner().invoke(tcplab, ["--help"]).output
    places = [listed.index(f"\n{name}:\n") for name in ("Run", "Look", "Teach", "Kernels", "Rare")]
    assert places == sorted(places)
    claims = " ".join(CliRunner().invoke(tcplab, ["run", "--help"]).output.split())
    assert all(" ".join(named.claim.split()) in claims for named in catalogue())


@pytest.mark.parametrize(("command", "said"), [("analyze", "Stopped.\n"), ("run", "are kept.\n")])
def test_a_stopped_command_says_what_stays(command: str, said: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended, one_clear_message(lambda: command):
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capsys.readouterr().err.endswith(said)


def test_ctrl_c_while_a_command_is_loaded_says_that_it_stopped(capsys) -> None:
    with pytest.raises(SystemExit), one_clear_message():
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "Stopped.\n"


def test_ctrl_c_ends_without_a_traceback_while_libraries_are_imported() -> None:
    with _ended_by_ctrl_c():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with _ended_by_ctrl_c():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_help_of_a_group_has_whole_lines() -> None:
    assert "..." not in invoke("lab", "--help").output.partition("Commands:")[2]


def test_a_broken_environment_says_what_repairs_it(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setattr("testbed.host._ENVIRONMENT", tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(SystemExit, match=f"rm -r {tmp_path}"):
        in_virtual_environment()


def _paths(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command below one; the studies of `run` have tests of their kind."""
    if not isinstance(command, click.Group) or path == ("run",):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found
        yield from _paths(found, (*path, name))


def test_each_command_is_called_by_a_test() -> None:
    text = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    assert [path for path in _paths(tcplab) if not re.search(_called(path), text)] == []


def _called(path: tuple[str, ...]) -> str:
    """As an argument of its own, or as the first or last of some, or by its function."""
    last, function = re.escape(path[-1]), path[-1].replace("-", "_")
    return rf'["\'][^"\'\n]*\b{" ".join(path)}\b|["\' ]{last}["\' ]|\b{function}(_command)?\('
