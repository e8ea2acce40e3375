"""The host's list and the launches of a run: equal, or a part where only some launches were traced."""

from __future__ import annotations

import numpy as np

from kernelpoint.errors import HostError


class Listing:
    """Launch indices of the host, which count its list, and those of the run, which count the launches of the program.

    Args:
        listed: int64 [n], the launch at each place of the list; None where the list holds every launch.

    >>> part = Listing(np.array([3, 5, 9]))
    >>> part.launch(0, 1), part.position(0, 9), part.launch(0, -2)
    (5, 2, -2)
    """

    def __init__(self, listed: np.ndarray | None) -> None:
        self._launches = None if listed is None else listed.tolist()
        self._positions = {} if listed is None else {launch: place for place, launch in enumerate(listed.tolist())}

    def launch(self, process: int, place: int) -> int:
        """The launch at a place of the list; negative numbers, which stand for its ends, as they are.

        Raises:
            HostError: the list is not that long.
        """
        if self._launches is None or place < 0:
            return place
        if not place < len(self._launches):
            raise HostError(
                f"launch index of process {process}: got {place}; the list has {len(self._launches)} launches"
            )
        launch: int = self._launches[place]
        return launch

    def position(self, process: int, launch: int) -> int:
        """The place of a launch in the list; negative numbers as they are."""
        return launch if self._launches is None or launch < 0 else self._positions[launch]
