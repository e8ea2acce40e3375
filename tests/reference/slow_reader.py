"""Accel-Sim's trace format as its description says, read as plainly as can be: the oracle for the fast reader."""

from dataclasses import dataclass

FILES = {"R": 0, "UR": 1, "P": 2, "UP": 3}


BULK = ("UTMALDG", "UTMASTG", "UTMAPF", "UTMAREDG", "UBLKCP", "UBLKPF", "UBLKRED")


@dataclass(frozen=True)
class SlowBulkCopy:
    barrier: int
    multicast: int
    bytes: int
    bytes_outside: int


@dataclass(frozen=True)
class SlowInstruction:
    pc: int
    mask: int
    destinations: tuple[int, ...]
    opcode: str
    sources: tuple[int, ...]
    width: int
    addresses: tuple[int, ...]
    bulk_copy: SlowBulkCopy | None = None
    values: tuple[tuple[int, ...], ...] | None = None  # of destinations, then sources: 1 or 32 each


@dataclass(frozen=True)
class SlowCta:
    index: tuple[int, int, int]
    warps: tuple[tuple[int, tuple[SlowInstruction, ...]], ...]
    cluster: tuple[tuple[int, int, int], tuple[int, int, int], int] = ((0, 0, 0), (0, 0, 0), 0)


def read_slowly(text: str) -> tuple[dict[str, str], list[SlowCta]]:
    """Header fields and CTAs of a valid trace."""
    header: dict[str, str] = {}
    lines = [line.strip() for line in text.split("\n")]
    for line in lines:
        if line.startswith("#"):
            break
        if line.startswith("-"):
            key, value = line[1:].split("=", 1)
            header[key.strip()] = value.strip()
    ctas = []
    for block in text.split("#BEGIN_TB")[1:]:
        rows = [row for row in block.split("#END_TB")[0].split("\n") if row.strip()]
        ctas.append(read_cta(rows, int(header.get("accelsim tracer version", 0)), header.get("enable lineinfo") == "1"))
    return header, ctas


def read_cta(rows: list[str], version: int, line_numbers: bool) -> SlowCta:
    index, warps, at = triple(rows[0]), [], 1
    cluster = ((0, 0, 0), (0, 0, 0), 0)
    if rows[1:] and rows[1].startswith("cluster"):
        cluster, at = (triple(rows[1]), triple(rows[2]), int(rows[3].split("=")[1])), 4
    while at < len(rows):
        warp, count = int(rows[at].split("=")[1]), int(rows[at + 1].split("=")[1])
        body = rows[at + 2 : at + 2 + count]
        warps.append((warp, tuple(read_instruction(row.split(), version, line_numbers) for row in body)))
        at += 2 + count
    return SlowCta(index, tuple(warps), cluster)


def triple(row: str) -> tuple[int, int, int]:
    x, y, z = (int(part) for part in row.split("=")[1].split(","))
    return x, y, z


def read_instruction(words: list[str], version: int, line_numbers: bool) -> SlowInstruction:
    if version < 3:
        words = words[4:]
    if line_numbers:
        words = words[1:]
    pc, mask, count, *words = int(words[0], 16), int(words[1], 16), int(words[2]), *words[3:]
    destinations, words = words[:count], words[count:]
    opcode, count, words = words[0], int(words[1]), words[2:]
    sources, words = words[:count], words[count:]
    if version >= 6 and "GMMA" in opcode:
        words = words[1:]  # a flag: the instruction commits a group
    traced_width, words = int(words[0]), words[1:]
    lanes = mask.bit_count()
    width, addresses, bulk, values = 0, [], None, None
    if version >= 6 and opcode.split(".")[0] in BULK:
        width, addresses, bulk, words = read_bulk_copy(traced_width, mask, words)
    elif traced_width:
        width = width_of(opcode)
        mode, words = int(words[0]), words[1:]
        if mode == 0:
            addresses = [int(word, 16) for word in words[:lanes]]
            words = words[lanes:]
        elif mode == 1:
            addresses = [int(words[0], 16) + lane * int(words[1]) for lane in range(lanes)]
            words = words[2:]
        else:
            addresses = running_sum(int(words[0], 16), words[1 : max(lanes, 1)])[:lanes]
            words = words[max(lanes, 1) :]
    if version >= 6:
        words = words[words.index("Val") + 1 :] if "Val" in words else None
        values = None if words is None else read_values(words)
    registers = [tuple(register(word) for word in part) for part in (destinations, sources)]
    wrapped = tuple(address % 2**64 for address in addresses)
    return SlowInstruction(pc, mask, registers[0], opcode, registers[1], width, wrapped, bulk, values)


def read_bulk_copy(width: int, mask: int, words: list[str]) -> tuple[int, list[int], SlowBulkCopy, list[str]]:
    """Bytes per address, addresses, the other fields, and the words behind them."""
    barrier, is_multicast, words = int(words[0], 16), words[1] == "1", words[2:]
    multicast = 0
    if is_multicast:
        multicast, words = int(words[0], 16), words[1:]
    total, outside, mode, words = int(words[0]), int(words[1]), words[2], words[3:]
    if mode == "3":
        count, words = int(words[0]), words[1:]
        addresses, words = [int(word, 16) for word in words[:count]], words[count:]
    else:
        base, count, words = int(words[0], 16), int(words[1]), words[2:]
        steps = max(count - 1, 0)
        addresses, words = running_sum(base, words[:steps])[:count], words[steps:]
    if mask == 0:
        addresses = []
    if width == 0 and addresses:
        width = min(max(total // len(addresses), 1), 65535)
    return width, addresses, SlowBulkCopy(barrier, multicast, total, outside), words


def running_sum(base: int, deltas: list[str]) -> list[int]:
    addresses = [base]
    for delta in deltas:
        addresses.append(addresses[-1] + int(delta))
    return addresses


def read_values(words: list[str]) -> tuple[tuple[int, ...], ...]:
    operands = []
    while words:
        count = int(words[0])
        operands.append(tuple(int(word, 16) for word in words[1 : 1 + count]))
        words = words[1 + count :]
    return tuple(operands)


def register(word: str) -> int:
    letters = word.rstrip("0123456789")
    return FILES[letters] << 8 | int(word[len(letters) :])


def width_of(opcode: str) -> int:
    for part in opcode.split("."):
        digits = part[1:] if part.startswith("U") else part
        if digits.isdigit():
            return max(1, int(digits) // 8)
    return 4
