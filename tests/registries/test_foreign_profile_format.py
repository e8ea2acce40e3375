"""A binary profile format of another package: one module and one entry point, and every reader knows it."""

import gzip

import pytest

from kernelpoint.errors import ProfileError
from kernelpoint.profiles import read_profile
from kernelpoint.profiles.format import STRUCTURE, WORDS
from kernelpoint.profiles.read import FORMATS

BINARY = '''
import struct
from kernelpoint.profiles.format import NOT_THIS, SIGNATURE, ProfileFormat, open_decompressed
from kernelpoint.profiles import ProfileBuilder


class Ticks(ProfileFormat):
    """Durations in ns, as doubles behind a mark."""

    description = "ticks"

    @classmethod
    def certainty(cls, beginning):
        return SIGNATURE if beginning.raw.startswith(b"TICKS") else NOT_THIS

    def read(self, path, device):
        builder = ProfileBuilder(str(path))
        with open_decompressed(path) as file:
            for order, (time,) in enumerate(struct.iter_unpack("<d", file.read()[5:])):
                builder.add("", order=order, counters={"cycles": time})
        return builder.finish(device)
'''


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_binary_format(tmp_path, install, compress):
    import struct

    file = tmp_path / "run.ticks"
    file.write_bytes(compress(b"TICKS" + struct.pack("<3d", 5.0, 6.0, 7.0)))
    with pytest.raises(ProfileError, match="no known profile"):
        read_profile(file)
    install("ticks", BINARY, "kernelpoint.profiles", ticks="Ticks")
    assert read_profile(file).counters["cycles"].tolist() == [5.0, 6.0, 7.0]


def test_a_file_of_no_format_is_refused_with_all_formats(tmp_path, install):
    install("ticks", BINARY, "kernelpoint.profiles", ticks="Ticks")
    file = tmp_path / "run.txt"
    file.write_text("nothing known\n")
    with pytest.raises(ProfileError, match=r"it begins 'nothing known'.*uniform CSV, ticks"):
        read_profile(file)


def test_every_format_says_what_it_is_called_and_is_sure_of_no_empty_file():
    from kernelpoint.profiles.format import NOT_THIS, Beginning

    kinds = FORMATS.load_all()
    assert len({kind.description for kind in kinds}) == len(kinds) and WORDS < STRUCTURE
    assert all(kind.certainty(Beginning(b"")) == NOT_THIS for kind in kinds)
