"""The worked example of the page on the estimator agrees with the engine."""

import re

import numpy as np
from pages import DOCS

PAGE = DOCS / "estimator.md"


def test_the_worked_example_gives_the_engine_s_total_and_error():
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict = {}
    exec(code, names)  # its last lines compare with the engine
    assert abs(names["total"] - names["y"].sum()) <= names["half_width"]
    assert np.isfinite(names["half_width"]) and len(names["drawn"]) == 11


def test_the_page_has_at_most_150_lines():
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 150
