# Wrong: the prior is read at the action's place among the legal actions, not at the action's own number.
import math


def find_best_action(self, hashable_state):
    """Pair the legal actions with the prior in order."""
    root = math.sqrt(self.Ns[hashable_state])
    options = []
    for move, prior in zip(self.valid_moves[hashable_state], self.P[hashable_state]):
        bonus = self.configs.cpuct * prior * root / (1 + self.Nsa[hashable_state][move])
        options.append((self.Q[hashable_state][move] + bonus, -int(move), move))
    score, _, chosen = max(options)
    return chosen, score
