"""The command `tengen`: its list of commands, what each runs, what is missing, completion."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pytest

from tengen import __main__ as command
from tengen.completion import SHELLS


def test_help_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert command.main([]) == 2


@pytest.mark.parametrize("name", [name for name, c in command.COMMANDS.items() if c.extra != "training"])
def test_each_command_has_its_program_and_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main([name, "--help"])
    assert ended.value.code == 0
    assert "usage" in capsys.readouterr().out.lower()


def test_arguments_reach_the_program(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    game = tmp_path / "game.txt"
    game.write_text("h8 i9 i8 g8")
    assert command.main(["review", str(game), "--simulations", "2", "--net", "uniform"]) == 0
    assert "4 moves" in capsys.readouterr().out
    assert command.main(["net", "nowhere.onnx"]) == 1
    assert "nowhere.onnx" in capsys.readouterr().err


def test_an_unknown_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["paly"]) == 2
    assert capsys.readouterr().err == "error: there is no command 'paly'; tengen --help lists them\n"


@pytest.mark.parametrize("late", [False, True])
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    late: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object) -> types.SimpleNamespace:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    program = types.SimpleNamespace(main=missing)
    monkeypatch.setattr(command.importlib, "import_module", (lambda _: program) if late else missing)
    assert command.main(["train"]) == 1
    assert "pip install 'tengen-gomoku[training]'" in capsys.readouterr().err


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in command.COMMANDS)
    assert command.main(["completion", "csh"]) == 2


@pytest.mark.posix
def test_bash_completes_a_command() -> None:
    text = subprocess.run(
        [sys.executable, "-m", "tengen", "completion", "bash"], capture_output=True, text=True, check=True
    ).stdout
    probe = f"{text}\nCOMP_WORDS=(tengen ana); COMP_CWORD=1; _tengen; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "analyse"


def test_the_version_is_that_of_the_brain(capsys: pytest.CaptureFixture[str]) -> None:
    from protocol import __version__

    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out == f"tengen {__version__}\n"
