"""How a command ends that is stopped or meets an error."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from training.files import console


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (None, 0, ""),
        (KeyboardInterrupt(), 1, "stopped; nothing was written\n"),
        (ValueError("--count is at least 1"), 2, "error: --count is at least 1\n"),
        (FileNotFoundError(2, "No such file", "x"), 2, "error: [Errno 2] No such file: 'x'\n"),
    ],
)
def test_the_status_of_a_command(
    capsys: pytest.CaptureFixture[str], error: BaseException | None, status: int, line: str
) -> None:
    @console.command(ValueError, OSError, stopped="nothing was written")
    def main(arguments: Sequence[str] | None = None) -> int:
        assert arguments == ["--count", "0"]
        if error is not None:
            raise error
        return 0

    assert main(["--count", "0"]) == status
    assert capsys.readouterr() == ("", line)


def test_an_error_that_a_command_does_not_expect_is_not_hidden() -> None:
    @console.command(OSError)
    def main(arguments: Sequence[str] | None = None) -> int:
        raise KeyError("a fault of the program")

    with pytest.raises(KeyError):
        main([])
