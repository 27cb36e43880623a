"""The comparison of two checkouts knows old and new names, and stops at a name that neither has."""

from __future__ import annotations

import pytest

from engine.search.params import SearchParams
from tests.golden import compare


class Older:
    """What an older checkout offers in place of an evaluator."""

    judge = "its backend"


def test_every_setting_of_the_comparison_is_known_here() -> None:
    for settings in compare.PARAMS:
        assert isinstance(compare.params_of(settings), SearchParams)


@pytest.mark.parametrize(
    ("known", "name"), [({"minimax_weight"}, "minimax_weight"), ({"minimax_share"}, "minimax_share")]
)
def test_a_setting_goes_by_the_name_that_a_checkout_has_for_it(known: set[str], name: str) -> None:
    assert compare.setting_name("minimax_weight", known) == name


def test_a_setting_that_no_checkout_knows_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(compare.PARAMS, "wrong", {"minimax_wait": 0.0})
    with pytest.raises(compare.UnknownNameError, match="minimax_wait"):
        compare.params_of("wrong")


def test_only_a_setting_that_was_added_may_be_missing() -> None:
    assert compare.setting_name("leaf_defences", {"c_puct"}) is None
    with pytest.raises(compare.UnknownNameError, match="c_puct"):
        compare.setting_name("c_puct", {"leaf_defences"})


def test_attributes_and_modules_have_old_names_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare.attribute(Older(), "backend") == "its backend"
    with pytest.raises(compare.UnknownNameError, match="Older has no visits"):
        compare.attribute(Older(), "visits")
    monkeypatch.setitem(compare.OLD_MODULES, "engine.rules.renamed", "engine.rules.rule")
    assert compare.module("engine.rules.renamed").Rule(4).name == "RENJU"
    with pytest.raises(compare.UnknownNameError, match=r"engine\.rules\.lost"):
        compare.module("engine.rules.lost")
