"""The contrastive loss, and two measures of its result."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

TEMPERATURE = 0.05


def info_nce(a: Tensor, b: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    r"""Symmetric InfoNCE over two views of a batch (van den Oord et al., 2018; GCL-Sampler, arXiv 2603.00551).

    .. math:: L = \frac{1}{2B} \sum_i \ell(a_i, b) + \ell(b_i, a), \qquad
              \ell(a_i, b) = -s(a_i, b_i) + \log \sum_j \exp s(a_i, b_j), \qquad s(a, b) = \cos(a, b) / \tau

    Numerics: the log-sum-exp form has no overflow at a temperature of 0.05, where terms reach exp(20).

    Args:
        a, b: projections of the two views, [batch, width]; rows i belong together.
        temperature: tau.

    >>> eye = torch.eye(3)
    >>> bool(info_nce(eye, eye) < info_nce(eye, eye.flip(0)))
    True
    """
    scores = normalize(a, dim=1) @ normalize(b, dim=1).T / temperature
    return ((scores.logsumexp(1) + scores.logsumexp(0)) / 2 - scores.diagonal()).mean()


def alignment(a: Tensor, b: Tensor) -> Tensor:
    """Mean squared distance of the normalised views of one graph; 0 is best (Wang and Isola, ICML 2020)."""
    return (normalize(a, dim=1) - normalize(b, dim=1)).square().sum(1).mean()


def uniformity(a: Tensor) -> Tensor:
    """log of the mean of exp(-2 d^2) over pairs of normalised rows; lower is more even (Wang and Isola, ICML 2020)."""
    if len(a) < 2:
        return a.new_zeros(())
    return torch.pdist(normalize(a, dim=1)).square().mul(-2).exp().mean().log()
