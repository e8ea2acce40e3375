"""Numbers of CTAs that share an SM, and of SMs that share a launch."""

import pytest
from bench import chain, trace, warp

LENGTH, LATENCY = 100, 7
ALONE = LENGTH * LATENCY


@pytest.fixture
def fp(bench):
    bench.gpu.update(single_precision_latency=LATENCY, cta_dispatch_interval=0)
    return bench


def ctas(count: int, warps: int = 1, **header: int) -> str:
    return trace([[warp(chain(LENGTH))] * warps] * count, **header)


def test_two_ctas_share_an_sm_at_the_same_time(fp):
    fp.gpu["schedulers_per_sm"] = 2
    assert fp.cycles(ctas(2)) == ALONE


def test_ctas_spread_over_all_sms_before_they_share_one(fp):
    fp.gpu.update(sms=4, max_ctas_per_sm=1)
    assert fp.cycles(ctas(4)) == ALONE
    assert fp.cycles(ctas(5)) == 2 * ALONE


def test_ctas_are_dispatched_one_after_the_other(fp):
    fp.gpu.update(sms=4, cta_dispatch_interval=25)
    assert fp.cycles(ctas(4)) == 3 * 25 + ALONE


def test_a_cta_takes_the_place_of_one_that_ends(fp):
    fp.gpu["max_ctas_per_sm"] = 1
    assert fp.cycles(ctas(3)) == 3 * ALONE


@pytest.mark.parametrize(
    "limit, just_two, too_much_for_two",
    [
        ({"max_ctas_per_sm": 2}, {}, None),
        ({"max_warps_per_sm": 4}, {"warps": 2}, {"warps": 3}),
        ({"registers_per_sm": 4096}, {"registers": 64}, {"registers": 65}),
        ({"shared_memory_per_sm": 4096}, {"shared": 2048}, {"shared": 2049}),
    ],
)
def test_residency_is_limited_by_what_runs_out_first(fp, limit, just_two, too_much_for_two):
    fp.gpu.update(schedulers_per_sm=8, **limit)
    assert fp.cycles(ctas(2, **just_two)) == ALONE
    if too_much_for_two is None:
        assert fp.cycles(ctas(3)) == 2 * ALONE
    else:
        assert fp.cycles(ctas(2, **too_much_for_two)) == 2 * ALONE


@pytest.mark.parametrize(
    "limit, launch, message",
    [
        ({"max_warps_per_sm": 2}, {"warps": 3}, "warps: it needs 3, an SM has 2"),
        ({"registers_per_sm": 2048}, {"registers": 65}, "registers: it needs 2304, an SM has 2048"),
        ({"shared_memory_per_sm": 1024}, {"shared": 1025}, "bytes of shared memory: it needs 1280, an SM has 1024"),
    ],
)
def test_a_cta_that_fits_on_no_sm_is_refused(fp, limit, launch, message):
    fp.gpu.update(**limit)
    done = fp.run(ctas(1, **launch))
    assert done.code == 1
    assert message in done.stderr
