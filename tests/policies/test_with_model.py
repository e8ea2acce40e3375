"""Policy kernelpoint where the fast model predicts the launches."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from workloads import synthesised

from kernelpoint.config import parse_config
from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, passes
from kernelpoint.planning.plan import Plan
from kernelpoint.policies.methods.kernelpoint import KernelPoint
from kernelpoint.randomness import generator
from kernelpoint.session.setup import prepare
from kernelpoint.workload import Population
from kernelpoint.workload.host_info import HostInfo


def population(unpredicted: int = 0) -> tuple[Population, np.ndarray]:
    """Four kernels of 300 launches with a model that is right up to 2 %, but for the first launches; the truth."""
    random = generator(0, "policy with a model")
    kernel = np.arange(300) % 4
    y = random.lognormal(8.0, 1.0, 4)[kernel] * random.lognormal(0.0, 0.5, 300)
    cycles = y * np.exp(0.02 * random.standard_normal(300))
    reads = np.where(kernel == 1, 0.5 * cycles, 0.0)
    cycles[:unpredicted] = np.nan
    model = SimpleNamespace(counters={"cycles": cycles, "dram_reads": reads, "l2_accesses": 2.0 * cycles})
    scan = SimpleNamespace(stream_ids=kernel, kernel_ids=kernel)
    return Population((300,), 0, scan=scan, model=model), y


def policy(**keys) -> KernelPoint:
    """The policy with a configuration."""
    return KernelPoint(parse_config({"version": 1, "policy": "kernelpoint", **keys}))


def test_predictions_become_the_covariates_and_kernels_the_groups():
    people, y = population()
    design = policy(assume="hostile").design(people)
    assert design.groups.tolist() == (np.arange(300) % 4).tolist()
    assert set(design.predictions) >= {"cycles", "dram_reads"} and design.assume == "hostile"
    engine = Engine(design, ErrorBudget(0.05))
    assert isinstance(engine, Engine)
    *_, look = passes(engine, ("cycles",), y)
    assert look.met and look.estimates["cycles"].contains(y.sum()) and len(engine.drawn()) < 150


def test_kernels_whose_embeddings_are_alike_share_a_correction_line():
    people, y = population()
    people = replace(people, embeddings=np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.05, 0.0], [0.0, 0.0, 1.0]]))
    design = policy().design(people)
    assert design.groups.tolist() == (np.arange(300) % 4).tolist()
    assert design.lines.tolist() == [0, 1, 0, 2]
    engine = Engine(design, ErrorBudget(0.05))
    *_, look = passes(engine, ("cycles",), y)
    assert look.estimates["cycles"].contains(y.sum())
    assert [part.units for part in look.clusters] == [150, 75, 75]
    level = engine.sampling._fits["cycles"].fits[0].level
    assert level[0] == level[2] and len(set(level)) == 3


def test_launches_without_a_prediction_are_simulated():
    design = policy().design(population(unpredicted=7)[0])
    assert np.flatnonzero(design.groups < 0).tolist() == list(range(7))
    assert set(range(7)) <= set(Engine(design, ErrorBudget(0.05)).wanted().tolist())


def test_a_plan_keeps_predictions(tmp_path):
    people, _ = population()
    design = policy().design(people)
    Plan(design, {}).save(tmp_path / "run.kpplan")
    again = Plan.load(tmp_path / "run.kpplan", people.u).design
    assert {k: v.tolist() for k, v in again.means.items()} == {k: v.tolist() for k, v in design.means.items()}
    assert Engine(again, ErrorBudget(0.05)).wanted().tolist() == Engine(design, ErrorBudget(0.05)).wanted().tolist()


def test_hostile_looks_at_the_begin_of_the_run_and_at_first_launches_of_kernels():
    people, _ = population()
    for seed in range(8):
        design = policy(assume="hostile").design(replace(people, seed=seed))
        wanted = Engine(design, ErrorBudget(0.05)).wanted()
        assert (wanted < 4).any() and ((wanted >= 4) & (wanted < 15)).any()


def test_a_run_says_once_why_its_estimate_rests_on_no_predictions(tmp_path):
    host = HostInfo("test", list_paths=(str(synthesised(tmp_path, "iterative-solver", 40, rows=1024)),))
    for keys, said in (
        ({}, []),
        ({"fast_model": "off"}, []),
        ({"error_budget": {"scope": "cluster"}}, ["scope: cluster"]),
    ):
        lines: list[str] = []
        setup = prepare(parse_config({"version": 1, "policy": "kernelpoint", **keys}), host, lines.append)
        reasons = [line for line in lines if "does not use the fast model's predictions" in line]
        assert len(reasons) == len(said) and all(text in reasons[0] for text in said)
        assert isinstance(setup.frame.design, AssistedDesign) == (keys == {})
