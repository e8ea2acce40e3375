"""The fast model's predictions as an input of a plan."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from workloads import synthesised

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError, ProfileError
from kernelpoint.fast_model import predict, shipped
from kernelpoint.program import Program
from kernelpoint.repeated import Repeated, Texts
from kernelpoint.traces import read_trace_list
from kernelpoint.workload import Need, complete, why_unassisted, with_predictor, with_profile
from kernelpoint.workload.inputs import as_times

LAUNCHES = 8
ENCODER = parse_config({"version": 1, "policy": "all"}).encoder
MODEL = frozenset({Need.MODEL})


@dataclass(frozen=True)
class Statements:
    """Statements of a simulator about itself."""

    simulator: str = "accelsim"
    configuration: str = "-gpgpu_n_clusters 7\n"
    config_hash: str = "0"
    list_paths: tuple[str | None, ...] = ()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    names = ("graph-traversal", "iterative-solver")
    return tuple(str(synthesised(tmp_path_factory.mktemp("lists"), name, LAUNCHES)) for name in names)


@pytest.fixture
def population(lists):
    read = [read_trace_list(path) for path in lists]
    copies = tuple(copies for listed in read for copies in listed.copies)
    return Program((LAUNCHES, LAUNCHES), traces=Texts.joined([listed.traces for listed in read]), copies=copies)


def sourced(population, host, setting="auto", said=None):
    return with_predictor(population, setting, host, (said if said is not None else []).append)


def test_predictions_are_made_process_by_process_under_the_simulators_own_configuration(population, lists):
    said = []
    source = sourced(population, Statements(list_paths=lists), said=said)
    assert source.predictions is None and said == []  # nothing is made, or said, before it is needed
    predictions = complete(source, MODEL, ENCODER, said.append).predictions
    assert source.predictor.configuration.values["sms"] == 7
    for number, path in enumerate(lists):
        alone = predict(read_trace_list(path), source.predictor.configuration, said.append).predictions
        rows = slice(number * LAUNCHES, (number + 1) * LAUNCHES)
        assert predictions["cycles"][rows].tolist() == alone["cycles"].tolist()
    assert any(source.predictor.configuration.hash in line for line in said)


def test_predictions_that_are_there_are_not_made_again(population, lists):
    made = complete(sourced(population, Statements(list_paths=lists)), MODEL, ENCODER, print)
    assert complete(made, MODEL, ENCODER, print) is made


@pytest.mark.parametrize("setting, kept", [("off", (0, 1)), ("auto", (0,))])
def test_there_are_none_where_the_model_is_off_or_a_list_is_missing(population, lists, setting, kept):
    host = Statements(list_paths=tuple(path if n in kept else None for n, path in enumerate(lists)))
    assert sourced(population, host, setting) is population


def test_a_bad_file_is_refused_though_nobody_asks_for_predictions(population, lists, tmp_path):
    bad = tmp_path / "bad.config"
    bad.write_text("-gpgpu_n_clusters many\n")
    with pytest.raises(ConfigError, match="-gpgpu_n_clusters is 'many'"):
        sourced(population, Statements(list_paths=lists), str(bad))


def test_the_identity_names_configuration_hash_and_version(population, lists):
    identity = sourced(population, Statements(list_paths=lists), "rtx").predictor.dependencies()
    assert identity["configuration"] == "rtx" and identity["config_hash"] == shipped("rtx").hash
    assert set(identity) == {"configuration", "config_hash", "model_version"}


def test_as_a_profile_predictions_have_names_and_launches_without_one_match_nothing(population, lists):
    made = complete(sourced(population, Statements(list_paths=lists)), MODEL, ENCODER, print)
    cycles = made.predictions["cycles"].copy()
    cycles[3] = np.nan
    profile = as_times(replace(made, predictions=Repeated(None, {"cycles": cycles})))
    assert profile.names[0] and not profile.names[3]
    assert np.flatnonzero(np.isnan(profile.time)).tolist() == [3]


def test_profile_model_gives_a_policy_the_predictions_as_times(population, lists):
    config = parse_config({"version": 1, "policy": "stem", "profile": "model"})
    program = with_profile(sourced(population, Statements(list_paths=lists)), config, print)
    assert program.time.tolist() == program.predictions["cycles"].tolist()
    with pytest.raises(ProfileError, match="got 'model', but the fast model is off"):
        with_profile(population, config, print)


@pytest.mark.parametrize(
    "keys, reason",
    [
        ({}, None),
        ({"profile": "model"}, None),
        ({"fast_model": "off"}, "fast_model: off"),
        ({"profile": "times.csv"}, None),
        ({"error_budget": {"bound": "none"}}, "bound: none"),
    ],
)
def test_the_estimate_rests_on_predictions_unless_a_setting_is_in_the_way(population, lists, keys, reason):
    config = parse_config({"version": 1, "policy": "kernelpoint", **keys})
    program = Program((LAUNCHES,), traces=population.traces[:LAUNCHES])
    refusal = why_unassisted(config, sourced(program, Statements(list_paths=lists[:1])))
    assert refusal is None if reason is None else reason in refusal


def test_the_launches_of_several_applications_are_predicted_and_without_a_list_none_are(population, lists):
    config = parse_config({"version": 1, "policy": "kernelpoint"})
    assert why_unassisted(config, Program((LAUNCHES,))) == "no trace list is on disk"
    assert why_unassisted(config, sourced(population, Statements(list_paths=lists))) is None
