"""One suite that every policy passes, whichever file it comes from."""

import copy

import numpy as np
import pytest

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError, PolicyError
from kernelpoint.estimation import Engine, ErrorBudget
from kernelpoint.policies.contract import Need
from kernelpoint.policies.population import Population
from kernelpoint.policies.registry import load_policy, policy_names

NAMES = policy_names()
WITHOUT_TRACES = [name for name in NAMES if Need.TRACES not in load_policy(name).needs]


def make(name, count=120, seed=0):
    population = Population(counts=(count,), seed=seed)
    policy = load_policy(name)(parse_config({"version": 1, "policy": name, "seed": seed}))
    return policy, population


def run(name, y, order=None, bound="none", budget=0.05):
    policy, population = make(name, len(y))
    engine = Engine(policy.design(population), ErrorBudget(budget, bound=bound), "mean")
    while True:
        wanted = engine.wanted()
        for unit in wanted if order is None else order(wanted):
            engine.record(int(unit), ("cycles",), np.array([float(y[unit])]))
        look = engine.look()
        if look.met or not engine.grow():
            return engine, look


@pytest.mark.parametrize("name", WITHOUT_TRACES)
def test_equal_populations_and_seeds_give_equal_designs(name):
    first, second = (make(name)[0].design(make(name)[1]) for _ in range(2))
    assert np.array_equal(first.strata, second.strata) and np.array_equal(first.first_sizes, second.first_sizes)
    assert np.array_equal(first.u, second.u)


@pytest.mark.parametrize("name", WITHOUT_TRACES)
def test_the_population_is_not_changed(name):
    policy, population = make(name)
    before = copy.deepcopy(population.u)
    policy.design(population)
    assert np.array_equal(population.u, before)


@pytest.mark.parametrize("name", WITHOUT_TRACES)
@pytest.mark.parametrize("count", [1, 2, 30, 31])
def test_populations_of_any_size_are_estimated(name, count):
    y = np.arange(1.0, count + 1)
    _, look = run(name, y)
    assert look.estimates["cycles"].estimate > 0


@pytest.mark.parametrize("name", WITHOUT_TRACES)
def test_launches_of_equal_cost_are_estimated_exactly(name):
    _, look = run(name, np.full(120, 7.0), bound="fixed")
    assert look.estimates["cycles"].estimate == pytest.approx(840.0, rel=1e-12)


@pytest.mark.parametrize("name", WITHOUT_TRACES)
def test_results_out_of_order_give_the_same_estimate(name):
    y = np.random.default_rng(3).lognormal(size=120)
    _, forward = run(name, y)
    _, backward = run(name, y, order=lambda wanted: wanted[::-1])
    assert forward.estimates["cycles"].estimate == pytest.approx(backward.estimates["cycles"].estimate, rel=1e-12)


@pytest.mark.parametrize("name", WITHOUT_TRACES)
def test_weights_add_up_to_the_population(name):
    _, look = run(name, np.ones(120))
    assert look.estimates["cycles"].estimate == pytest.approx(120.0, rel=1e-12)


@pytest.mark.parametrize("name", WITHOUT_TRACES)
def test_the_estimate_uses_no_launch_that_was_not_simulated(name):
    y = np.random.default_rng(4).lognormal(size=120)
    engine, look = run(name, y)
    hidden = y.copy()
    seen = np.zeros(len(y), dtype=bool)
    seen[[unit for unit, _ in engine.records()]] = True
    hidden[~seen] = 1e9
    _, again = run(name, hidden)
    assert again.estimates["cycles"].estimate == look.estimates["cycles"].estimate


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_says_which_bounds_it_can_state(name):
    assert set(load_policy(name).bounds) <= {"sequential", "two_stage", "fixed", "none"}
    assert load_policy(name).__doc__


def test_an_unknown_policy_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="allowed: all"):
        load_policy("simpoint")


def test_a_new_policy_is_one_new_file(tmp_path, monkeypatch):
    import kernelpoint.policies as package
    from kernelpoint.policies import registry

    (tmp_path / "halves.py").write_text(
        "from kernelpoint.policies.random import Random as _Random\n\n\nclass Halves(_Random):\n    '''A test policy.'''\n"
    )
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    real = registry.pkgutil.iter_modules
    monkeypatch.setattr(registry.pkgutil, "iter_modules", lambda path: [*real(path), *real([str(tmp_path)])])
    assert "halves" in registry.policy_names()
    assert registry.load_policy("halves").__name__ == "Halves"


def test_a_file_without_a_policy_is_refused(tmp_path, monkeypatch):
    import kernelpoint.policies as package
    from kernelpoint.policies import registry

    (tmp_path / "empty.py").write_text("x = 1\n")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "policy_names", lambda: ["empty"])
    with pytest.raises(PolicyError, match="exactly one subclass of Policy, got 0"):
        registry.load_policy("empty")
