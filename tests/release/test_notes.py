"""Notes of a release are its section of the changelog."""

import pytest

from release.notes import main, notes_of

TEXT = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n- two\n\n## 0.1.0 - 2026-11-28\n\n- one\n"


@pytest.mark.parametrize(("version", "notes"), [("0.2.0", "- two"), ("0.1.0", "- one")])
def test_a_version_has_its_section(version: str, notes: str) -> None:
    assert notes_of(TEXT, version) == notes


@pytest.mark.parametrize("version", ["Unreleased", "0.3.0", "0.1"])
def test_a_version_without_notes_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match=version):
        notes_of(TEXT, version)


def test_the_command_finds_the_first_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["0.1.0"]) == 0 and "Added" in capsys.readouterr().out
    assert main(["9.9.9"]) == 1
