"""A simulator that an older KernelPoint patched is refused before the first cycle; the hooks state what is asked of them."""

import re
from pathlib import Path

import pytest

from kernelpoint.errors import HostError
from kernelpoint.workload.host_info import LEAST_HOOK

ROOT = Path(__file__).parents[2]


def test_an_older_hook_is_refused_with_the_command_that_patches_again(host):
    message = (
        "this accelsim was patched by an older KernelPoint .got hook 2; allowed: hook 3 or newer.: patch it again with"
    )
    with pytest.raises(HostError, match=message + " `kernelpoint patch accelsim CHECKOUT`, and build it"):
        host.open(simulator="accelsim", version="hook 2")


@pytest.mark.parametrize("version", [f"hook {LEAST_HOOK}", "hook 12", "1.4", "", "hook", "the hook 2"])
def test_other_versions_are_not_refused(host, version):
    host.open(simulator="accelsim", version=version).journal.close()


@pytest.mark.parametrize("folder", ["accelsim_patch", "macsim_patch"])
@pytest.mark.skipif(not (ROOT / "accelsim_patch").is_dir(), reason="the patches are not beside the tests")
def test_the_hooks_state_a_version_that_is_not_refused(folder):
    texts = "".join(path.read_text() for path in (ROOT / folder / "hook").glob("*.h"))
    (stated,) = re.findall(r'host\.version = "hook (\d+)"', texts)
    assert int(stated) >= LEAST_HOOK
