# Wrong: as in UCB1, an action without a visit is always tried before any visited action, whatever its score.
import math


def find_best_action(self, hashable_state):
    """Try unvisited actions first, then use the score."""
    counts = self.Nsa[hashable_state]
    root = math.sqrt(self.Ns[hashable_state])

    def score(move):
        bonus = self.configs.cpuct * self.P[hashable_state][move] * root / (1 + counts[move])
        return self.Q[hashable_state][move] + bonus

    fresh = [move for move in self.valid_moves[hashable_state] if counts[move] == 0]
    pool = fresh if fresh else list(self.valid_moves[hashable_state])
    chosen = max(pool, key=score)
    return chosen, score(chosen)
