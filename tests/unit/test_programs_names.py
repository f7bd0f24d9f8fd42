"""Names of programs in networks, as tests of users import them."""

from dataclasses import fields
from pathlib import Path

import pytest
import tcplab.testing

from experiments.cli.exec import named_port
from experiments.programs.folders import readable_copy
from experiments.programs.start import NetworkOptions
from experiments.programs.words import LinkWords, OptionWords, words_of
from topologies.errors import UsageError
from topologies.spec import Channel


def test_the_module_of_a_checkout_is_imported_as_that_of_a_wheel() -> None:
    from tcplab import testing

    assert testing.Network is tcplab.testing.Network
    assert set(testing.__all__) <= set(dir(tcplab.testing))


def test_arguments_that_editors_complete_are_those_there_are() -> None:
    words = set(LinkWords.__annotations__)
    assert words | {"settings"} == {field.name for field in fields(Channel)}
    assert set(OptionWords.__annotations__) == {field.name for field in fields(NetworkOptions)}


def test_text_is_split_as_a_shell_does() -> None:
    assert words_of("ls -l 'a b'") == ("ls", "-l", "a b") == words_of(["ls", "-l", "a b"])
    with pytest.raises(UsageError, match="no closing quotation"):
        words_of("ls 'a")


@pytest.mark.parametrize(
    ("command", "port"),
    [
        ("curl http://h2/", 80),
        ("curl https://user@h2/x", 443),
        ("nc h2:5672", 5672),
        ("curl http://ip6-h2:8080/", 8080),
        ("curl http://h20/", None),
        ("ping h2", None),
    ],
)
def test_the_port_that_a_command_names_is_waited_for(command: str, port: int | None) -> None:
    assert named_port(tuple(command.split())) == port


def test_a_private_folder_is_copied_for_another_user(tmp_path: Path) -> None:
    (tmp_path / "private/inner").mkdir(parents=True)
    (tmp_path / "private/inner/file").write_text("text")
    (tmp_path / "private/inner/file").chmod(0o600)
    copy = readable_copy(tmp_path / "private", tmp_path / "copy")
    assert (copy / "inner/file").read_text() == "text"
    assert (copy / "inner/file").stat().st_mode & 0o777 == 0o644
    assert (copy / "inner").stat().st_mode & 0o055 == 0o055
