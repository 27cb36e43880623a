"""docs/settings.md says what the program has."""

import importlib.util

from tests.helpers.paths import ROOT


def test_the_page_of_settings_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_settings", ROOT / "docs" / "make_settings.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert text == module.page(), "run `python docs/make_settings.py`"
    assert "`search.c_puct` | 1.1 | 0 to 100" in text and "`learner.teacher_share`" in text
