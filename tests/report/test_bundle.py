"""The script of every page: what the cache keeps of it is checked."""

import os
from types import SimpleNamespace

import pytest

from kernelpoint.pages import script

TEXT = "var made = '</SCRIPT><!--' < 5;"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The kept file; the bundle is a short text, and the fixture counts how often it is made."""
    made = []
    fake = SimpleNamespace(javascript_bundle=lambda: made.append(1) or TEXT)
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", fake)
    monkeypatch.setattr(script, "version", lambda name: "1.0")
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path))
    script.javascript()
    return SimpleNamespace(path=tmp_path / "vega-1.0.js", made=made)


def test_the_bundle_is_made_once_and_cannot_end_the_pages_script(kept):
    assert script.javascript() == r"var made = '\x3C/SCRIPT>\x3C!--' < 5;"
    assert len(kept.made) == 1


def changed(path):
    path.write_text(path.read_text().replace("made", "evil"))


def replaced(path):
    path.write_text("alert('another script')")


def cut(path):
    path.write_bytes(path.read_bytes()[:-3])


def opened_to_others(path):
    path.chmod(0o666)


def given_away(path):
    if os.getuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 65534, -1)


@pytest.mark.parametrize("damage", [changed, replaced, cut, opened_to_others, given_away])
def test_a_kept_bundle_that_was_changed_or_could_have_been_is_made_anew(kept, damage):
    damage(kept.path)
    assert script.javascript() == r"var made = '\x3C/SCRIPT>\x3C!--' < 5;"
    assert len(kept.made) == 2
    assert script.javascript() and len(kept.made) == 2
    status = kept.path.stat()
    assert status.st_uid == os.getuid() and not status.st_mode & 0o022
