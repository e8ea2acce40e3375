"""Chakra execution traces: their messages, and the profile format, in which computing nodes on the GPU are kernel launches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

from kernelpoint.errors import ProfileError
from kernelpoint.extras import needs_extra
from kernelpoint.profiles.calls import MOST_PARTS, OPERATOR, with_one_operator
from kernelpoint.profiles.format import NOT_THIS, SIGNATURE, Beginning, ProfileFormat, open_decompressed
from kernelpoint.program import UNKNOWN, Program, ProgramBuilder

ROOT = "[pytorch|profiler"  # begin of the names of nodes that stand for a whole thread


class Chakra(ProfileFormat):
    """Format of Chakra execution traces. Launches are the nodes of type COMP_NODE that are not on the CPU, in the order of
    their ids. Collectives are left out.

    The range of a kernel (its place in the model's code) has two parts: the annotations on which the kernel's node has a
    control dependency, and the outermost operator in the innermost annotation. An operator is a node with a non-empty attribute
    `op_schema`.

    Times are in whole microseconds, unless KernelPoint wrote the trace. Grids are not in the file.
    """

    description = "Chakra execution trace"
    ranges = "a Chakra execution trace"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        return SIGNATURE if is_chakra(beginning.raw) else NOT_THIS

    def read(self, path: Path, device: int | None) -> Program:
        builder, (_, read) = ProgramBuilder(str(path)), read_trace(path)
        nodes = {node.id: node for node in read}
        for node in read:
            if is_kernel(node):
                nanoseconds = value_of(node, "nanoseconds", 1000.0 * node.duration_micros)
                stream, start = int(value_of(node, "stream", UNKNOWN)), 1000 * node.start_time_micros
                of_range = _path(node, nodes) if self.with_ranges else ""
                times = {"start": start, "duration": float(nanoseconds)}
                builder.add(node.name, stream=stream, order=node.id, range_path=of_range, **times)
            elif node.type != COMP:
                builder.leave_out("node of communication or memory")
        return builder.finish(device)


def _path(node: Any, nodes: dict[int, Any]) -> str:
    """Path of the ranges that a node depends on."""
    names: list[str] = []
    while node.ctrl_deps and node.ctrl_deps[0] in nodes and len(names) < MOST_PARTS:
        node = nodes[node.ctrl_deps[0]]
        if not node.name.startswith(ROOT):
            names.insert(0, (OPERATOR if value_of(node, "op_schema") else "") + node.name.replace("/", " "))
    return "/".join(with_one_operator(names))


INVALID, COMP, COMM_COLL = 0, 4, 7  # types of nodes
COLLECTIVES = ("allreduce", "reduce", "allgather", "gather", "scatter", "broadcast", "alltoall", "reducescatter")
# Message -> its fields: name, number, type; "*" repeats it; a name in capitals is a message, or an enumeration kept as number.
FIELDS = {
    "GlobalMetadata": "version 1 string, attr 2 *AttributeProto",
    "Node": "id 1 uint64, name 2 string, type 3 int32, ctrl_deps 4 *uint64, data_deps 5 *uint64, start_time_micros 6 uint64, "
    "duration_micros 7 uint64, attr 10 *AttributeProto",
    "AttributeProto": "name 1 string, double_val 3 double, float_val 5 float, int32_val 7 int32, int64_val 9 int64, uint32_val "
    "11 uint32, uint64_val 13 uint64, bool_val 27 bool, string_val 29 string",
}
LARGEST_MESSAGE = 64 << 20
_VARINT_BYTES = 5
_BEGIN = re.compile(rb"[\x02-\xff][\x01-\x7f]?(\x0a[\x03-\x20]\d+\.\d+[\w.+-]*|\x12[\x04-\xff][\x01-\x7f]?\x0a[\x01-\x40]\w+)")


def is_chakra(raw: bytes) -> bool:
    """True if bytes begin like a Chakra trace, which starts with a short protobuf message that has a version or a named
    attribute.

    >>> is_chakra(b"\\x07\\n\\x050.0.4"), is_chakra(b'{\\n  "schemaVersion": 1')
    (True, False)
    """
    return _BEGIN.match(raw) is not None


@cache
def schema() -> Any:
    """Protobuf classes of Chakra's messages: Node, GlobalMetadata, AttributeProto.

    Raises:
        SetupError: protobuf is not installed.
    """
    with needs_extra("Chakra traces"):
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    file = descriptor_pb2.FileDescriptorProto(name="kernelpoint_chakra.proto", package="ChakraProtoMsg", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for message, fields in FIELDS.items():
        made = file.message_type.add(name=message)
        for name, number, kind in (field.split() for field in fields.split(", ")):
            label = kinds.LABEL_REPEATED if kind.startswith("*") else kinds.LABEL_OPTIONAL
            kind = kind.removeprefix("*")
            field = made.field.add(name=name, number=int(number), label=label)
            if kind in FIELDS:
                field.type, field.type_name = kinds.TYPE_MESSAGE, f".ChakraProtoMsg.{kind}"
            else:
                field.type = getattr(kinds, f"TYPE_{kind.upper()}")
            if message == "AttributeProto" and number != "1":
                field.oneof_index = 0
        if message == "AttributeProto":
            made.oneof_decl.add(name="value")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    messages = {name: pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}") for name in FIELDS}
    return SimpleNamespace(**{name: message_factory.GetMessageClass(one) for name, one in messages.items()})


def read_trace(path: Path) -> tuple[Any, list[Any]]:
    """Read the metadata and the nodes of a Chakra trace, plain or compressed.

    Raises:
        ProfileError: the file is cut or damaged; the message names the node.
        OSError: the file cannot be read.
        SetupError: protobuf is not installed.
    """
    classes = schema()
    with open_decompressed(path) as file:
        messages = _messages(file, str(path))
        metadata = _parsed(classes.GlobalMetadata, next(messages, b""), f"{path}: its metadata")
        nodes = [_parsed(classes.Node, data, f"{path}: node {n}") for n, data in enumerate(messages)]
    if len({node.id for node in nodes}) < len(nodes):
        raise ProfileError(f"{path}: two nodes have the same id; the file is damaged")
    return metadata, nodes


def write_trace(file: BinaryIO, metadata: Any, nodes: Iterable[Any]) -> None:
    """Write a Chakra execution trace: the metadata, then each node, each as a protobuf message with its length before it."""
    for message in (metadata, *nodes):
        data = message.SerializeToString()
        file.write(_varint(len(data)) + data)


def value_of(message: Any, name: str, default: Any = None) -> Any:
    """Value of an attribute of a Chakra node, or of the metadata; `default` if it is missing."""
    for attribute in message.attr:
        if attribute.name == name:
            kind = attribute.WhichOneof("value")
            return default if kind is None else getattr(attribute, kind)
    return default


def set_value(message: Any, name: str, **value: Any) -> None:
    """Set an attribute of a Chakra node, in place of an attribute of the same name: `set_value(node, "is_cpu_op",
    bool_val=False)`.
    """
    kept = [attribute for attribute in message.attr if attribute.name != name]
    del message.attr[:]
    message.attr.extend([*kept, schema().AttributeProto(name=name, **value)])


def is_kernel(node: Any) -> bool:
    """True if a Chakra node is a kernel that computes: it is on the GPU and is no communication."""
    return node.type == COMP and not value_of(node, "is_cpu_op", False)


def _messages(file: BinaryIO, name: str) -> Iterator[bytes]:
    number = 0
    while first := file.read(1):
        size, shift = first[0] & 0x7F, 7
        while first and first[0] & 0x80 and shift < 7 * _VARINT_BYTES:
            first = file.read(1)
            size, shift = size | ((first[0] & 0x7F) << shift if first else 0), shift + 7
        data = file.read(size) if size <= LARGEST_MESSAGE else b""
        if len(data) != size or not first or first[0] & 0x80:
            raise ProfileError(f"{name}: message {number} is cut or damaged (it should have {size:,} bytes)")
        yield data
        number += 1


def _parsed(kind: Any, data: bytes, what: str) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(data)
    except (DecodeError, UnicodeDecodeError) as error:
        raise ProfileError(f"{what} is damaged: {' '.join(str(error).split())[:100]}") from None


def _varint(number: int) -> bytes:
    """Encode a number as a varint of protobuf.

    >>> _varint(300)
    b'\\xac\\x02'
    """
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])
