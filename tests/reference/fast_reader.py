"""The C++ reader of traces, in the types of the plain one (slow_reader), so that both compare with ==."""

from typing import Any

from slow_reader import SlowBulkCopy, SlowCta, SlowInstruction

from kernelpoint import _native


def _operand_values(row: Any, entry: Any, values: list[int]) -> tuple[tuple[int, ...], ...]:
    """One tuple for each operand, of the values that start at entry["first"]."""
    at, operands = int(entry["first"]), []
    for operand in range(int(row["destination_count"]) + int(row["source_count"])):
        count = 32 if int(entry["per_lane"]) >> operand & 1 else 1
        operands.append(tuple(values[at : at + count]))
        at += count
    return tuple(operands)


def read_fast(path: str, keep_values: bool = True) -> list[SlowCta]:
    """The CTAs of a trace in either layout."""
    reader = _native.read_ctas(path, keep_values)
    ctas = []
    for item in reader:
        rows, addresses, values = item["instructions"], item["addresses"].tolist(), item["values"].tolist()
        fields = ("barrier", "multicast", "bytes", "bytes_outside")
        copies = {
            int(copy["instruction"]): SlowBulkCopy(**{field: int(copy[field]) for field in fields})
            for copy in item["bulk_copies"]
        }
        operands = {
            int(entry["instruction"]): _operand_values(rows[entry["instruction"]], entry, values)
            for entry in item["operand_values"]
        }
        decoded = [
            SlowInstruction(
                pc=int(row["pc"]),
                mask=int(row["active_mask"]),
                destinations=tuple(row["destinations"][: row["destination_count"]].tolist()),
                opcode=reader.opcodes[row["opcode"]],
                sources=tuple(row["sources"][: row["source_count"]].tolist()),
                width=int(row["width"]),
                addresses=tuple(addresses[row["first_address"] : row["first_address"] + row["address_count"]]),
                bulk_copy=copies.get(number),
                values=operands.get(number),
            )
            for number, row in enumerate(rows)
        ]
        warps = tuple(
            (int(w["id"]), tuple(decoded[w["first_instruction"] : w["first_instruction"] + w["instruction_count"]]))
            for w in item["warps"]
        )
        ctas.append(SlowCta(item["index"], warps, item["cluster"]))
    return ctas
