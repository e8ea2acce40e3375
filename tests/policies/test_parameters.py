"""The contract of every policy. Its parameters are declared, checked, documented, and part of the identity of a run."""

from dataclasses import MISSING

import pytest

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError
from kernelpoint.planning.making import origin_of
from kernelpoint.policies.conformance import CHECKS, make, synthetic_profile, synthetic_scan
from kernelpoint.policies.registry import POLICIES, load_policy
from kernelpoint.program import Program
from kernelpoint.typed import keys_of


def config(choice, **more):
    return parse_config({"version": 1, "policy": choice, **more})


def design(choice, population):
    settings = config(choice)
    return load_policy(settings.policy)(settings).design(population)


def test_a_name_alone_stands_for_the_defaults():
    short, long = config("stem"), config({"name": "stem"})
    assert short == long and short.written()["policy"] == "stem"
    assert load_policy(short.policy)(short).parameters.epsilon is None


def test_stem_and_allegro_size_their_samples_for_epsilon():
    for name in ("stem", "allegro"):
        population = make(name)[1]
        fine, coarse = (design({"name": name, "epsilon": e}, population).first_sizes.sum() for e in (0.001, 0.2))
        settings = config(name, error_budget={"relative_error": 0.2})
        assert fine > coarse == load_policy(name)(settings).design(population).first_sizes.sum()


def test_random_draws_its_first_sample():
    assert design({"name": "random", "first_sample": 7}, Program((50,))).first_sizes.tolist() == [7]


def test_sieve_splits_from_theta_on():
    population = synthetic_scan(120)
    split, whole = (len(design({"name": "sieve", "theta": t}, population).first_sizes) for t in (0.01, 100.0))
    assert split > whole == 3


@pytest.mark.parametrize("name", ["gcl", "pka"])
def test_no_more_clusters_are_made_than_allowed(name):
    population = make(name)[1]
    assert len(design({"name": name, "max_clusters": 2}, population).first_sizes) == 2


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"name": "stem", "epsilon": 2.0}, r"policy.epsilon: got 2.0; expected a number, above 0 and below 1"),
        (
            {"name": "stem", "eps": 0.1},
            r"policy.eps: unknown key \(did you mean epsilon\?\) \(value 0.1\); allowed here: epsilon",
        ),
        ({"name": "all", "epsilon": 0.1}, r"policy.epsilon: unknown key \(value 0.1\); allowed here: none"),
        ({"name": "random", "first_sample": True}, r"policy.first_sample: got True; expected a whole number, at least 2"),
        ({"epsilon": 0.1}, r"policy.name: this key is required"),
        (["stem"], r"policy: got \['stem'\]; expected a policy's name, or a mapping"),
        ({"name": "simpoint", "epsilon": 0.1}, r"policy: got 'simpoint'; allowed: all"),
    ],
)
def test_what_a_policy_does_not_allow_is_refused(choice, message):
    with pytest.raises(ConfigError, match=message):
        load_policy(config(choice).policy)


def test_a_plan_with_other_parameters_is_another_plan():
    population = synthetic_profile(120)
    choices = ("stem", {"name": "stem", "epsilon": 0.05}, {"name": "stem", "epsilon": 0.1})
    origins = [origin_of(config(choice), load_policy("stem"), population, frozenset())["policy"] for choice in choices]
    assert origins == list(choices)


def test_every_parameter_has_a_default_and_a_description():
    for name in POLICIES.names():
        for key in keys_of(load_policy(name).Parameters):
            assert key.description and key.default is not MISSING, f"{name}.{key.name}"


@pytest.mark.parametrize("name", POLICIES.names())
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_policy_fulfils_the_contract(check, name):
    check(name)
