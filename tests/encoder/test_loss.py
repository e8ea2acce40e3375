"""InfoNCE against a slow oracle, its gradient against differences, and its limits."""

import math

import numpy as np
import pytest
import torch

from kernelpoint_lab.training.loss import alignment, info_nce, uniformity


def slow_info_nce(a, b, temperature, ignored=None, positives=None):
    """The formula as it is written, term by term, in Python's unbounded decimals where exp would overflow."""

    def similarity(x, y):
        return math.fsum(p * q for p, q in zip(x, y, strict=True)) / (math.hypot(*x) * math.hypot(*y)) / temperature

    def one(x, others, i):
        mine = [j for j in range(len(others)) if i == j or (positives and positives[i][j])]
        left_out = [j for j in range(len(others)) if ignored and ignored[i][j] and j not in mine]
        terms = math.fsum(math.exp(similarity(x, y)) for j, y in enumerate(others) if j not in left_out)
        return math.fsum(-math.log(math.exp(similarity(x, others[j])) / terms) for j in mine) / len(mine)

    count = len(a)
    return sum(one(a[i], b, i) + one(b[i], a, i) for i in range(count)) / (2 * count)


@pytest.fixture
def views():
    torch.manual_seed(1)
    return torch.randn(6, 5, dtype=torch.float64), torch.randn(6, 5, dtype=torch.float64)


@pytest.mark.parametrize("temperature", [0.05, 0.5, 2.0])
def test_the_loss_agrees_with_the_formula_term_by_term(views, temperature):
    a, b = views
    assert float(info_nce(a, b, temperature)) == pytest.approx(slow_info_nce(a.tolist(), b.tolist(), temperature))


def test_pairs_said_to_be_equal_are_no_negatives(views):
    a, b = views
    ignored = torch.zeros(6, 6, dtype=torch.bool)
    ignored[0, 3] = ignored[3, 0] = True
    expected = slow_info_nce(a.tolist(), b.tolist(), 0.05, ignored.tolist())
    assert float(info_nce(a, b, 0.05, ignored)) == pytest.approx(expected)
    assert expected < float(info_nce(a, b, 0.05)) or expected == pytest.approx(float(info_nce(a, b, 0.05)))


def test_further_positives_are_averaged_and_win_over_ignored(views):
    a, b = views
    names = torch.tensor([0, 0, 1, 0, 2, 1])
    positives = names[:, None] == names[None]
    ignored = torch.zeros(6, 6, dtype=torch.bool)
    ignored[0, 1] = ignored[1, 0] = ignored[4, 5] = ignored[5, 4] = True
    expected = slow_info_nce(a.tolist(), b.tolist(), 0.05, ignored.tolist(), positives.tolist())
    assert float(info_nce(a, b, 0.05, ignored, positives)) == pytest.approx(expected)
    assert expected != pytest.approx(float(info_nce(a, b, 0.05, ignored)))


def test_the_gradient_agrees_with_differences(views):
    a, b = (view.requires_grad_() for view in views)
    assert torch.autograd.gradcheck(lambda x, y: info_nce(x, y, 0.5), (a, b))
    assert torch.autograd.gradcheck(lambda x, y: info_nce(x, y, 0.05), (a, b), atol=1e-4)


def test_the_loss_is_symmetric_in_its_views(views):
    a, b = views
    assert float(info_nce(a, b)) == pytest.approx(float(info_nce(b, a)), rel=1e-12)


def test_the_loss_stays_finite_where_a_plain_exponential_would_not(views):
    a, b = views
    assert math.isfinite(float(info_nce(a, b, 1e-4)))


def test_alignment_and_uniformity_are_what_wang_and_isola_define(views):
    a, b = (view / view.norm(dim=1, keepdim=True) for view in views)
    assert float(alignment(*views)) == pytest.approx(float(((a - b) ** 2).sum(1).mean()))
    pairs = [math.exp(-2 * float(((a[i] - a[j]) ** 2).sum())) for i in range(6) for j in range(i)]
    assert float(uniformity(views[0])) == pytest.approx(math.log(np.mean(pairs)))
