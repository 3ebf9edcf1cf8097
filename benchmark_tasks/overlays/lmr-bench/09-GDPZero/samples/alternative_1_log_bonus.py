# Right: PUCT with the exploration bonus computed in log space; the best record comes from a heap.
import heapq
import math
from typing import NamedTuple


class Scored(NamedTuple):
    """One legal action with its score."""

    score: float
    move: int


def bonus_of(weight, prior, total, visits):
    """Return weight * prior * sqrt(total) / (1 + visits), which is zero if a factor is zero."""
    if weight == 0 or prior <= 0 or total <= 0:
        return 0.0
    magnitude = math.exp(math.log(prior) + 0.5 * math.log(total) - math.log1p(visits))
    return weight * magnitude


def find_best_action(self, hashable_state):
    """Return the best scored action; equal scores go to the action with the lower number."""
    total = self.Ns[hashable_state]
    table = []
    for move in self.valid_moves[hashable_state]:
        prior = float(self.P[hashable_state][move])
        extra = bonus_of(self.configs.cpuct, prior, total, self.Nsa[hashable_state][move])
        table.append(Scored(self.Q[hashable_state][move] + extra, move))
    (best,) = heapq.nlargest(1, table, key=lambda record: (record.score, -record.move))
    return best.move, best.score
