"""Accel-Sim's .tracez as its description says, packed and unpacked as plainly as can be: the oracle for the fast reader.

Frames may be stored without compression, which needs no library and lets a fuzzer reach the text inside them.
"""

import struct
from dataclasses import dataclass, field

Place = tuple[int, int, int]
MAGIC, SINGLE_SEGMENT_8_BYTES, LAST_RAW_BLOCK = 0xFD2FB528, 0xE0, 1
LARGEST_BLOCK = 128 << 10


@dataclass
class PlainCta:
    index: Place
    warps: list[list[str]]
    cluster: tuple[Place, Place, int] = ((0, 0, 0), (0, 0, 0), 0)


@dataclass
class PlainTracez:
    header: str
    ctas: list[PlainCta] = field(default_factory=list)

    def to_text(self) -> str:
        """The same launch as a .traceg."""
        text = self.header + "\n"
        for cta in self.ctas:
            (cluster, place, rank), index = cta.cluster, cta.index
            text += "#BEGIN_TB\n\nthread block = {},{},{}\n".format(*index)
            text += "cluster id = {},{},{}\n".format(*cluster) + "cluster cta = {},{},{}\n".format(*place)
            text += f"cluster rank = {rank}\n"
            for number, lines in enumerate(cta.warps):
                text += f"\nwarp = {number}\ninsts = {len(lines)}\n" + "".join(f"{line}\n" for line in lines)
            text += "\n#END_TB\n\n"
        return text


def raw_frame(content: bytes) -> bytes:
    """A zstd frame of one block that is not compressed; holds at most 128 KiB."""
    assert len(content) <= LARGEST_BLOCK
    head = struct.pack("<IBQ", MAGIC, SINGLE_SEGMENT_8_BYTES, len(content))
    return head + (len(content) << 3 | LAST_RAW_BLOCK).to_bytes(3, "little") + content


def pack(trace: PlainTracez, chunk: int = 2048, compress=raw_frame, dictionary: bytes = b"") -> bytes:
    """The file, with sub-chunks of at most `chunk` instructions."""
    data = bytearray(trace.header.encode() + b"\0" + struct.pack("<II", len(dictionary), chunk) + dictionary)
    index = struct.pack("<I", len(trace.ctas))
    for cta in trace.ctas:
        cluster, place, rank = cta.cluster
        index += struct.pack("<11I", *cta.index, *cluster, *place, rank, len(cta.warps))
        for lines in cta.warps:
            chunks = [lines[i : i + chunk] for i in range(0, len(lines), chunk)]
            index += struct.pack(f"<IIQ{len(chunks)}I", len(lines), len(chunks), len(data), *map(len, chunks))
            data += struct.pack("<II", len(lines), len(chunks))
            for part in chunks:
                frame = compress("\n".join(part).encode())
                data += struct.pack("<I", len(frame)) + frame
    return bytes(data) + index + struct.pack("<Q", len(data))


def unpack(data: bytes, decompress) -> PlainTracez:
    """The launch in a valid file; `decompress(frame, dictionary)` gives a frame's content."""
    end = data.index(b"\0")
    size, _ = struct.unpack_from("<II", data, end + 1)
    dictionary = data[end + 9 : end + 9 + size]
    trace = PlainTracez(data[:end].decode())
    (at,) = struct.unpack_from("<Q", data, len(data) - 8)
    (ctas,) = struct.unpack_from("<I", data, at)
    at += 4
    for _ in range(ctas):
        *places, rank, warps = struct.unpack_from("<11I", data, at)
        at += 44
        index, cluster, place = (tuple(places[i : i + 3]) for i in (0, 3, 6))
        cta = PlainCta(index, [], (cluster, place, rank))
        for _ in range(warps):
            instructions, chunks, offset = struct.unpack_from("<IIQ", data, at)
            at += 16 + 4 * chunks
            lines: list[str] = []
            offset += 8
            for _ in range(chunks):
                (length,) = struct.unpack_from("<I", data, offset)
                lines += decompress(data[offset + 4 : offset + 4 + length], dictionary).decode().split("\n")
                offset += 4 + length
            assert len(lines) == instructions
            cta.warps.append(lines)
        trace.ctas.append(cta)
    return trace


def from_text(text: str) -> PlainTracez:
    """A launch of version 6, every warp of the block in order; those that the text leaves out have no instructions."""
    header, *blocks = text.split("#BEGIN_TB")
    block = next(line for line in header.split("\n") if line.startswith("-block dim"))
    x, y, z = map(int, block.split("(")[1].rstrip(")").split(","))
    trace = PlainTracez(header)
    for part in blocks:
        rows = [row for row in part.split("#END_TB")[0].split("\n") if row.strip()]
        triples = [tuple(map(int, row.split("=")[1].split(","))) for row in rows[:3]]
        warps: list[list[str]] = [[] for _ in range(-(-x * y * z // 32))]
        at = 4
        while at < len(rows):
            warp, count = int(rows[at].split("=")[1]), int(rows[at + 1].split("=")[1])
            warps[warp] = rows[at + 2 : at + 2 + count]
            at += 2 + count
        trace.ctas.append(PlainCta(triples[0], warps, (triples[1], triples[2], int(rows[3].split("=")[1]))))
    return trace
