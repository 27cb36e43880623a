"""Which build of torch `make test` installs."""

import re

import pytest

import setup_torch
from setup_torch import Attempt, attempts, fits, install, pinned
from tests.helpers.paths import ROOT


def last_words(ways):
    return [way.commands[-1][-1] for way in ways]


def test_a_build_for_processors_comes_first_and_the_large_one_last():
    ways = attempts("cpu", "", "2.0", "Linux")
    assert last_words(ways) == ["torch==2.0+cpu", "torch==2.0", "torch==2.0"]
    assert "--torch-backend=cpu" in ways[1].commands[-1]
    assert "GB" in ways[2].words and "TORCH_INDEX" in ways[2].words


@pytest.mark.parametrize("system", ["Windows", "Darwin"])
def test_elsewhere_the_choice_of_pip_is_the_build_for_processors(system):
    assert last_words(attempts("cpu", "", "2.0", system)) == ["torch==2.0"]


def test_cuda_is_a_choice_that_a_build_without_it_does_not_meet():
    assert last_words(attempts("cuda", "", "2.0", "Linux")) == ["torch===2.0"]
    assert "--torch-backend=auto" in attempts("cuda", "", "2.0", "Windows")[0].commands[-1]
    assert "--torch-backend=cu126" in attempts("cu126", "", "2.0", "Linux")[0].commands[-1]


def test_a_named_index_is_the_only_way():
    (way,) = attempts("cpu", "there", "2.0", "Linux")
    assert way.commands[0][-3:] == ("--index-url", "there", "torch==2.0")


def test_ways_are_tried_until_one_succeeds():
    said, ran = [], []
    ways = [Attempt(name, ((name, "1"), (name, "2"))) for name in "abc"]

    def run(command):
        ran.append(command)
        return int(command == ("a", "1"))

    assert install(ways, run, said.append)
    assert ran == [("a", "1"), ("b", "1"), ("b", "2")] and said == ["torch: a", "torch: b"]
    assert not install(ways, lambda command: 1, said.append)


def test_what_is_there_stays_unless_the_other_kind_is_named():
    cpu, cuda = ("2.0+cpu", False), ("2.0", True)
    assert fits(cpu, "", "2.0") and fits(cuda, "", "2.0")
    assert fits(cpu, "cpu", "2.0") and not fits(cuda, "cpu", "2.0")
    assert fits(cuda, "cuda", "2.0") and not fits(cpu, "cuda", "2.0")
    assert fits(("2.0+cu126", True), "cu126", "2.0") and not fits(cuda, "cu126", "2.0")
    assert not fits(cpu, "", "2.1") and not fits(None, "", "2.0")


def test_the_pin_is_the_same_wherever_it_stands():
    version = pinned((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    assert f'"torch=={version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = setup_torch.installed()
    assert found is not None and fits(found, "", version)
    with pytest.raises(ValueError, match="torch==VERSION"):
        pinned("numpy==1\n")


def test_hosted_runs_name_every_action_by_its_commit():
    """A tag can be moved by whoever holds its repository, a commit cannot."""
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        text = path.read_text(encoding="utf-8")
        uses = re.findall(r"uses: (\S+)(.*)", text)
        assert uses and "permissions:" in text
        for action, comment in uses:
            if action.startswith("./"):  # a workflow of the same commit
                assert (ROOT / action).is_file(), f"{path.name}: {action}"
                continue
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), f"{path.name}: {action}"
            assert re.search(r"# v\d+\.\d+\.\d+", comment), f"{path.name}: {action} without its version"
