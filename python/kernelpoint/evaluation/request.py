"""A workload as the user names it on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernelpoint.errors import ConfigError

HOST = "host:"  # begins a profile that the embedded host makes
MODEL = "model"  # the profile that the fast model makes
KEYS = ("truth", "name", "traces", "profile", "host", "fast_model", "device", "latency")


@dataclass(frozen=True)
class Request:
    """A workload as the user names it.

    truth: per-launch results of the full run; name: in tables; traces: its trace list; profile: what methods plan from
    (none: the truth, for those that cannot do without; "truth": for all that can use its times; "host:NAME": a full run of
    the embedded host in that configuration; "model": what the fast model predicts; or a file); host: the configuration of the
    embedded host that makes the truth; fast_model: the model's configuration, as in kernelpoint.yaml (`auto`: another GPU
    than the host's, else the nearest shipped; `off`); device: GPU of the truth file; latency: cycles of each
    launch that no method can save, taken off for a second error.
    """

    name: str
    truth: str | None = None
    traces: str | None = None
    profile: str | None = None
    host: str | None = None
    fast_model: str = "auto"
    device: int | None = None
    latency: float = 0.0


def parse_request(text: str) -> Request:
    """A workload from the command line: FILE, or key=value pairs separated by commas.

    Raises:
        ConfigError: an unknown key, or neither a truth nor a host with traces.

    >>> parse_request("v100.csv").name, parse_request("truth=a.csv,name=b,traces=k.g").traces
    ('v100', 'k.g')
    """
    if "=" not in text:
        return Request(name=_name_of(text), truth=text)
    fields: dict[str, str] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        if key not in KEYS or not value:
            raise ConfigError(f"--workload: got {part!r}; allowed: a file, or key=value with keys {', '.join(KEYS)}")
        fields[key] = value
    if "truth" not in fields and not ("host" in fields and "traces" in fields):
        raise ConfigError(f"--workload {text}: needs truth=FILE, or host=CONFIG and traces=LIST")
    from_traces = fields.get("profile", "").startswith(HOST) or fields.get("profile") == MODEL
    if from_traces and "traces" not in fields:
        raise ConfigError(f"--workload {text}: profile={HOST}NAME and profile={MODEL} need traces=LIST")
    try:
        device = int(fields["device"]) if "device" in fields else None
        latency = float(fields.get("latency", 0.0))
    except ValueError:
        raise ConfigError(f"--workload {text}: device and latency are numbers") from None
    name = fields.get("name") or _name_of(fields.get("truth") or fields["traces"])
    request = {key: fields.get(key) for key in ("truth", "traces", "profile", "host")}
    fast_model = fields.get("fast_model", "auto")
    return Request(name=name, device=device, latency=latency, fast_model=fast_model, **request)


def _name_of(path: str) -> str:
    name = Path(path).name
    for suffix in (".gz", ".xz", ".csv", ".json", ".txt", ".kpjournal", ".sqlite", ".g"):
        name = name.removesuffix(suffix)
    return name if name != "kernelslist" else Path(path).resolve().parent.name
