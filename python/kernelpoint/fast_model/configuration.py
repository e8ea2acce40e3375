"""Configuration of the fast model: derived from that of the simulator, or the shipped one of the nearest GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelpoint import _native
from kernelpoint.errors import ConfigError, TraceError
from kernelpoint.files import read_regular
from kernelpoint.progress import Log
from kernelpoint.simulators import options_of, simulator

Configuration = _native.fast_model.Configuration
SHIPPED = Path(__file__).resolve().parents[1] / "host_configs"
BASE = "v100"  # what a simulator's configuration leaves open is as in this one
LARGEST_FILE = 1 << 20
ARCHITECTURES = {"v100": 70, "rtx": 86}  # SASS versions of the packaged GPUs
AMPERE = 80  # SASS version from which on the shipped GPU is rtx


def shipped(name: str) -> Configuration:
    """Configuration that ships with the package, by name: `v100` or `rtx`.

    >>> shipped("v100").values["sms"]
    80
    """
    return configuration_of_host(name)


def configuration_of_host(name: str) -> Configuration:
    """Read the configuration of the embedded host, the small simulator that ships with KernelPoint.

    Args:
        name: value of the host's option `-config`: `v100`, `rtx` or a file.

    >>> gpu = configuration_of_host("v100")
    >>> gpu.name, gpu.values["sms"], gpu.hash == configuration_of_host("rtx").hash
    ('v100', 80, False)
    """
    return configuration_of([name])


def configuration_of(paths: Sequence[str]) -> Configuration:
    """Read the fast model's configuration of a simulated GPU.

    Args:
        paths: each `v100`, `rtx`, a YAML file of the fast model, or a configuration file of a simulator. Later files override
            earlier ones.

    Raises:
        ConfigError: a file cannot be read or is refused.
    """
    return _native.fast_model.derive(_texts(paths), str(SHIPPED / f"{BASE}.yaml"))


def _texts(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Text of each configuration file, given by path or by the name of a shipped one."""
    packaged = {path.stem: str(path) for path in SHIPPED.glob("*.yaml")}
    texts = []
    for path in paths:
        try:
            texts.append((path, read_regular(packaged.get(path, path), LARGEST_FILE).decode()))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ConfigError(
                f"{path}: cannot be read as a configuration of a simulated GPU: {reason}; allowed: "
                f"{', '.join(sorted(packaged))}, or a file"
            ) from error
    return texts


def stated_by(gpu: Sequence[str]) -> dict[str, str]:
    """Description of the simulated GPU that a simulator reports if it runs with these configuration files.

    Args:
        gpu: a configuration of the embedded host (`v100`, `rtx` or a file), or the files of another simulator; later files
            override earlier ones.

    Returns:
        `simulator`, `configuration` and `config_hash`, which are arguments of :func:`configuration_for`.

    Raises:
        ConfigError: a file cannot be read or is refused.

    >>> stated_by(["rtx"])["simulator"]
    'kernelpoint-host'
    """
    if len(gpu) == 1 and not (derived := configuration_of_host(gpu[0])).simulator:
        return {"simulator": "kernelpoint-host", "configuration": "", "config_hash": derived.hash}
    texts = _texts(gpu)
    derived = _native.fast_model.derive(texts, str(SHIPPED / f"{BASE}.yaml"))
    return {"simulator": derived.simulator, "configuration": "\n".join(text for _, text in texts), "config_hash": ""}


def caches_of(simulator: str, configuration: str) -> tuple[int, int, int, int, int, int] | None:
    """Number of sets, ways, and latency in cycles, of the L1 cache and then of the last-level cache. None if the fast model has
    no special core model for the simulator.

    Args:
        simulator: name of the simulator.
        configuration: its options, as text; empty: None is returned.

    Raises:
        ConfigError: the configuration is refused.

    >>> caches_of("macsim", "num_sim_cores 8\\nnum_llc 4\\nllc_num_set 128\\nllc_latency 150")
    (128, 6, 30, 512, 24, 150)
    >>> caches_of("macsim", "")
    """
    if not configuration:
        return None
    derived = _native.fast_model.derive([(f"options of {simulator}", configuration)], str(SHIPPED / f"{BASE}.yaml"))
    return None if derived.cores is None else derived.cores[2]


def architecture_of(simulator_name: str, configuration: str, config_hash: str) -> int:
    """Version of the instruction set that a simulated GPU executes, as number (70 for sm_70); 0 if unknown.

    Args:
        simulator_name: name of the simulator.
        configuration: options of the simulated GPU; not used for the embedded host, the simulator that ships with KernelPoint.
        config_hash: hash of the configuration; used for the embedded host only.

    >>> architecture_of("kernelpoint-host", "", shipped("v100").hash)
    70
    """
    if simulator_name == "kernelpoint-host":
        return next((number for name, number in ARCHITECTURES.items() if shipped(name).hash == config_hash), 0)
    return simulator(simulator_name).architecture(options_of(configuration))


def configuration_for(
    setting: str, simulator: str, configuration: str, config_hash: str, paths: Sequence[str], log: Log
) -> Configuration:
    """Choose the GPU configuration with which the fast model predicts a run: the simulator's own if it is known, else the
    packaged one for the traces' architecture. For the embedded host, which is the fast model itself, another GPU is chosen, so
    that predictions are not exact.

    Args:
        setting: value of the key `fast_model`: `auto`; or `v100`, `rtx`, a YAML file of the fast model, or a simulator's file.
        simulator: name of the simulator.
        configuration: options of the simulated GPU, as the simulator reports them; empty if it reports none.
        config_hash: hash of the options, as the simulator reports it.
        paths: trace files; the first readable one gives the architecture if nothing else does.
        log: function that receives messages about unknown options, and about a choice other than the simulator's own
            configuration.

    Raises:
        ConfigError: a configuration is refused.

    >>> configuration_for("v100", "mine", "", "", [], print).values["sms"]
    80
    """
    if setting != "auto":
        derived = _named(setting)
    elif simulator == "kernelpoint-host":
        usual = shipped("v100")
        derived = usual if usual.hash != config_hash else shipped("rtx")  # the host is the fast model itself
        log(
            f"kernelpoint: the fast model predicts with {derived.name} (the host is itself the fast model; another GPU keeps "
            "the test honest)"
        )
    elif configuration:
        derived = _native.fast_model.derive([(f"options of {simulator}", configuration)], str(SHIPPED / f"{BASE}.yaml"))
    else:
        derived = shipped(_nearest(paths))
        log(
            f"kernelpoint: {simulator} does not state its configuration; the fast model predicts with {derived.name}, the "
            "nearest shipped"
        )
    for note in derived.notes:
        log(f"kernelpoint: {note}")
    return derived


def _named(setting: str) -> Configuration:
    try:
        return configuration_of_host(setting)
    except ConfigError as error:
        packaged = ", ".join(sorted(path.stem for path in SHIPPED.glob("*.yaml")))
        allowed = f"auto, off, {packaged}, or a file that describes a GPU"
        raise ConfigError(f"fast_model: got {setting!r}; allowed: {allowed}; {error}") from error


def _nearest(paths: Sequence[str]) -> str:
    """The shipped GPU of the architecture that the first readable trace was made on."""
    for path in paths:
        try:
            return "rtx" if _native.read_header(path).binary_version >= AMPERE else "v100"
        except TraceError:
            continue
    return BASE
