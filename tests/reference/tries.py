"""Tries of an attack, counted for the table of `tests/damage/campaigns.py`; a test that counts none is one try."""

_count = 0


def tried(number: int = 1) -> None:
    """Count tries of the running test."""
    global _count
    _count += number


def take() -> int:
    """The tries since the last call."""
    global _count
    number, _count = _count, 0
    return number
