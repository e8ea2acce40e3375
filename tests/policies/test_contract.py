"""One suite that every policy passes, whichever file it comes from."""

import copy
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelpoint
from kernelpoint.errors import ConfigError, PolicyError
from kernelpoint.estimation import Engine, ErrorBudget
from kernelpoint.policies.registry import load_policy, policy_names
from kernelpoint.workload import Available, Need, Population

from .conftest import make

NAMES = policy_names()
every_policy = pytest.mark.parametrize("name", NAMES)


def run(name, y=None, order=None, bound="none", budget=0.05, count=120, times=None):
    """Replay a run; y None gives every launch the cost for which the policy's own estimator is exact."""
    policy, population = make(name, len(y) if y is not None else count, times=times)
    method = type(policy).estimates[0]
    design = policy.design(population)
    if y is None:
        y = 7.0 * design.x if method == "separate_ratio" else np.full(population.size, 7.0)
    engine = Engine(design, ErrorBudget(budget, bound=bound), method)
    while True:
        wanted = engine.wanted()
        for unit in wanted if order is None else order(wanted):
            engine.record(int(unit), ("cycles",), np.array([float(y[unit])]))
        look = engine.look()
        if look.met or not engine.grow():
            return engine, look, y


def same_design(first, second):
    parts = ("strata", "first_sizes", "u", "x", "cost", "clusters", "chosen")
    return all(
        (getattr(first, p) is None and getattr(second, p) is None)
        or np.array_equal(getattr(first, p), getattr(second, p))
        for p in parts
    )


@every_policy
def test_equal_populations_and_seeds_give_equal_designs(name):
    first, second = (make(name)[0].design(make(name)[1]) for _ in range(2))
    assert same_design(first, second)


@every_policy
def test_the_population_is_not_changed(name):
    policy, population = make(name)
    before = copy.deepcopy(population)
    policy.design(population)
    assert np.array_equal(population.u, before.u)
    for part in ("scan", "profile"):
        now, then = getattr(population, part), getattr(before, part)
        for field in vars(then) if then is not None else ():
            value = getattr(then, field)
            if isinstance(value, np.ndarray):
                assert np.array_equal(getattr(now, field), value, equal_nan=value.dtype.kind == "f"), f"{part}.{field}"
    if population.embeddings is not None:
        assert np.array_equal(population.embeddings, before.embeddings)


@every_policy
@pytest.mark.parametrize("count", [1, 2, 30, 31])
def test_populations_of_any_size_are_estimated(name, count):
    _, look, y = run(name, np.arange(1.0, count + 1))
    assert look.estimates["cycles"].estimate > 0
    if count == 1:
        assert look.estimates["cycles"].estimate == pytest.approx(y.sum())


@every_policy
def test_launches_of_equal_cost_are_estimated_exactly(name):
    _, look, y = run(name, bound="fixed")
    assert look.estimates["cycles"].estimate == pytest.approx(y.sum(), rel=1e-12)


@every_policy
def test_weights_add_up_to_the_population_or_its_work(name):
    _, look, y = run(name)
    assert look.estimates["cycles"].estimate == pytest.approx(y.sum(), rel=1e-12)


@every_policy
@pytest.mark.parametrize("times", [np.full(120, 5000.0), np.where(np.arange(120) == 60, 9e6, 1000.0)])
def test_strata_without_variance_and_of_one_launch_keep_their_weight(name, times):
    policy, population = make(name, times=times)
    design = policy.design(population)
    engine, look, y = run(name, times=times)
    simulated = {unit for unit, _ in engine.records()}
    drawn = np.bincount(design.strata[[unit for unit in simulated if design.strata[unit] >= 0]], minlength=0)
    assert len(drawn) == len(design.first_sizes) and (drawn > 0).all(), (
        "a stratum without a draw vanishes from the total"
    )
    for stratum in np.flatnonzero(design.sizes == 1):
        assert int(np.flatnonzero(design.strata == stratum)[0]) in simulated
    assert look.estimates["cycles"].estimate == pytest.approx(y.sum(), rel=1e-12)


@every_policy
def test_every_launch_is_in_a_stratum_or_simulated(name):
    policy, population = make(name)
    design = policy.design(population)
    assert len(design.strata) == population.size
    assert (design.sizes > 0).all(), "a stratum without launches"
    assert np.array_equal(np.unique(design.strata[design.strata >= 0]), np.arange(len(design.first_sizes)))


@every_policy
def test_results_out_of_order_give_the_same_estimate(name):
    y = np.random.default_rng(3).lognormal(size=120)
    forward = run(name, y)[1].estimates["cycles"].estimate
    backward = run(name, y, order=lambda wanted: wanted[::-1])[1].estimates["cycles"].estimate
    assert forward == pytest.approx(backward, rel=1e-12)


@every_policy
def test_the_estimate_uses_no_launch_that_was_not_simulated(name):
    y = np.random.default_rng(4).lognormal(size=120)
    engine, look, _ = run(name, y)
    hidden = y.copy()
    seen = np.zeros(len(y), dtype=bool)
    seen[[unit for unit, _ in engine.records()]] = True
    hidden[~seen] = 1e9
    again = run(name, hidden)[1]
    assert again.estimates["cycles"].estimate == look.estimates["cycles"].estimate


@every_policy
def test_every_policy_says_what_it_can_state_and_how_it_estimates(name):
    policy = load_policy(name)
    assert policy.__doc__
    assert set(policy.bounds) <= {"sequential", "two_stage", "fixed", "none"} and policy.bounds
    assert set(policy.estimates) <= {"regression", "ratio", "mean", "separate_ratio"} and policy.estimates


@every_policy
def test_a_purposive_sample_states_no_bound(name):
    policy, population = make(name)
    if policy.design(population).chosen is not None:
        assert type(policy).bounds == ("none",)


@pytest.mark.parametrize("name", [name for name in NAMES if load_policy(name).inputs(Available())])
def test_a_missing_input_is_named(name):
    policy, _ = make(name)
    with pytest.raises(PolicyError, match=name):
        policy.design(Population(counts=(5,), seed=0))


def test_only_policies_with_embeddings_import_torch():
    names = [name for name in NAMES if Need.EMBEDDINGS not in load_policy(name).inputs(Available())]
    code = (
        f"import sys; sys.path.insert(0, {str(__file__.rpartition('/')[0])!r}); from conftest import make\n"
        f"for name in {names!r}:\n"
        "    policy, population = make(name); policy.design(population)\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"


def test_an_unknown_policy_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="allowed: all"):
        load_policy("simpoint")


NEW_POLICY = """
from kernelpoint.policies.random import Random as _Random


class Halves(_Random):
    '''A simple random sample under another name.'''
"""
PROFILE = "idx,name,grid,block,dur_us\n" + "".join(f"{i},k{i % 3},1x1x1,32x1x1,{5 + i % 3}\n" for i in range(60))


@pytest.fixture(scope="module")
def copy_with_a_new_policy(tmp_path_factory):
    """The installed package, copied, with one more file and no other edit; Python prefers it to the installed one."""
    folder = tmp_path_factory.mktemp("copy")
    package = Path(kernelpoint.__file__).parent
    unneeded = shutil.ignore_patterns("*.so", "bin", "lib", "__pycache__")
    shutil.copytree(package, folder / "kernelpoint", ignore=unneeded)
    for library in package.glob("_native*.so"):
        (folder / "kernelpoint" / library.name).symlink_to(library)
    (folder / "kernelpoint" / "policies" / "halves.py").write_text(NEW_POLICY)
    (folder / "profile.csv").write_text(PROFILE)
    return folder


def with_copy(folder, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=200,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_policy_is_one_new_file_and_every_command_knows_it(copy_with_a_new_policy):
    folder = copy_with_a_new_policy
    code = "import sys; from kernelpoint.cli import main; sys.argv[0] = 'kernelpoint'; main()"
    shown = with_copy(
        folder, "-c", code, "compare", "-w", str(folder / "profile.csv"), "--policies", "all", "--seeds", "1"
    )
    assert "halves" in shown and "kernelpoint" in shown


def test_a_new_policy_is_under_the_contract_without_an_edit_of_the_tests(copy_with_a_new_policy):
    quiet = ("-q", "-p", "no:cacheprovider", "-k", "halves")
    shown = with_copy(copy_with_a_new_policy, "-m", "pytest", *quiet, __file__)
    assert int(re.search(r"(\d+) passed", shown).group(1)) >= 14


def test_a_file_without_a_policy_is_refused(tmp_path, monkeypatch):
    import kernelpoint.policies as package
    from kernelpoint.policies import registry

    (tmp_path / "empty.py").write_text("x = 1\n")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "policy_names", lambda: ["empty"])
    with pytest.raises(PolicyError, match="exactly one subclass of Policy, got 0"):
        registry.load_policy("empty")
