"""Nsight Systems: the SQLite export (`nsys export --type sqlite`)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import NOT_THIS, SIGNATURE, Beginning, ProfileFormat
from kernelpoint.profiles.profile import UNKNOWN, Profile, ProfileBuilder


class NsightSystemsSqlite(ProfileFormat):
    """The SQLite export: table CUPTI_ACTIVITY_KIND_KERNEL, names from StringIds.

    Mangled names are preferred where the export has them: they match trace lists exactly. Times are ns there.

    Raises:
        ProfileError: not an Nsight Systems export, or one without kernels.
    """

    description = "nsys SQLite export"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        return SIGNATURE if beginning.raw.startswith(b"SQLite format 3\x00") else NOT_THIS

    def read(self, path: Path, device: int | None) -> Profile:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        source = str(path)
        try:
            connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            try:
                return _read_tables(connection, source, device)
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise ProfileError(f"{source}: cannot be read as an SQLite export of Nsight Systems: {error}") from None


def _read_tables(connection: sqlite3.Connection, source: str, device: int | None) -> Profile:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    if "CUPTI_ACTIVITY_KIND_KERNEL" not in tables:
        raise ProfileError(f"{source}: no table CUPTI_ACTIVITY_KIND_KERNEL; was the run traced with --trace=cuda?")
    builder = ProfileBuilder(source)
    for kind in ("memcpy", "memset"):
        table = f"CUPTI_ACTIVITY_KIND_{kind.upper()}"
        if table in tables:
            (count,) = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
            if count:
                builder.left_out[kind] = count
    columns = {row[1] for row in connection.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")}
    names = dict(connection.execute("SELECT id, value FROM StringIds")) if "StringIds" in tables else {}
    name_columns = [c for c in ("mangledName", "demangledName", "shortName", "name") if c in columns]
    if not name_columns or not {"start", "end"} <= columns:
        raise ProfileError(
            f"{source}: CUPTI_ACTIVITY_KIND_KERNEL lacks names or times; it has {', '.join(sorted(columns))}"
        )
    wanted = {
        "start": "0", "end": "0", "gridX": "0", "gridY": "0", "gridZ": "0", "blockX": "0", "blockY": "0", "blockZ": "0",
        "registersPerThread": str(UNKNOWN), "staticSharedMemory": "0", "dynamicSharedMemory": "0",
        "streamId": str(UNKNOWN), "correlationId": "0", "deviceId": "0",
    }  # fmt: skip
    listed = ", ".join(f'"{c}"' if c in columns else default for c, default in wanted.items())
    query = f"SELECT COALESCE({', '.join([*name_columns, 'NULL'])}), {listed} FROM CUPTI_ACTIVITY_KIND_KERNEL"
    for (
        name_id,
        start,
        end,
        gx,
        gy,
        gz,
        bx,
        by,
        bz,
        registers,
        static,
        dynamic,
        stream,
        order,
        gpu,
    ) in connection.execute(query):
        name = names.get(name_id, str(name_id))
        builder.add(
            name, (gx, gy, gz), (bx, by, bz), registers, static + dynamic, stream, start, float(end - start), order, gpu
        )
    return builder.finish(device)
