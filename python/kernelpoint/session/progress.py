"""Messages that the user sees while a run goes on: plain lines through the host's own output, at most one every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kernelpoint.progress import duration
from kernelpoint.session.verdict import EXACT, width_text

if TYPE_CHECKING:
    from kernelpoint.estimation import ErrorBudget, Look

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Turns the events of a session into lines of text.

    Args:
        log: takes one line.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._launches = self._wanted = 0
        self._so_far = ""
        self.is_muted = False  # True while a journal is gone through, whose passes were told of when they happened
        self.tells_results = True  # False: the coordinator of a run tells how far it is
        self._pass_start = self._last = time.monotonic()

    def say_plainly(self, line: str) -> None:
        """One line as it is."""
        if not self.is_muted:
            self._log(line)

    def say(self, *texts: str) -> None:
        """A line for each text, under the name that every line of the plugin carries."""
        for text in texts:
            self.say_plainly(f"kernelpoint: {text}")

    def pass_begins(self, pass_index: int, wanted: int, launches: int) -> None:
        """A pass over `launches` launches starts and will simulate `wanted` of them."""
        self._launches, self._wanted = launches, wanted
        self._pass_start = self._last = time.monotonic()
        self.say(f"pass {pass_index}: {wanted:,} of {self._launches:,} launches to simulate")

    def completed(self, pass_index: int, simulated: int, left: int) -> None:
        """A result came in; says so only now and then."""
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES or not left or not self.tells_results:
            return
        self._last = now
        done = self._wanted - left
        seconds = (now - self._pass_start) / max(done, 1) * left
        self.say(
            f"pass {pass_index}: {done:,} of {self._wanted:,} done, {simulated:,} of {self._launches:,} launches simulated, "
            f"about {duration(seconds)} left in this pass{self._so_far}"
        )

    def looked(
        self, look: Look, pass_index: int, budget: ErrorBudget, ranges: Sequence[tuple[str, float, float]] = ()
    ) -> None:
        """The bound at the end of a pass, on each target of the error budget; ranges: name, largest relative half-width and
        error of each target that names ranges.
        """
        known = {**look.estimates, **look.ratios}
        texts = [
            f"{name} {known[name].estimate:.6g} {_bound(known[name].relative_half_width, error)}"
            for name, error in budget.targets.items()
            if name in known
        ]
        texts += [f"{name} {_bound(width, error)}" for name, width, error in ranges]
        if not texts:
            return
        self._so_far = f"; so far {texts[0]}"
        is_exact = all(text.endswith(EXACT) for text in texts)
        place = "" if is_exact else f"; sampling error {'within' if look.met else 'beyond'} the error budget"
        self.say(f"pass {pass_index}: {', '.join(texts)}{place}")


def _bound(width: float, error: float) -> str:
    if width == 0.0:
        return EXACT
    return f"+- {width_text(width, error)} %" if width == width else "no bound stated"
