# Wrong: forbidden actions compete too, with value zero, and win when all allowed scores are negative.
import numpy as np


def find_best_action(self, hashable_state):
    """Score every entry of the prior."""
    priors = np.asarray(self.P[hashable_state], dtype=float)
    values = np.zeros(len(priors))
    visits = np.zeros(len(priors))
    for move in self.valid_moves[hashable_state]:
        values[move] = self.Q[hashable_state][move]
        visits[move] = self.Nsa[hashable_state][move]
    scores = values + self.configs.cpuct * priors * np.sqrt(self.Ns[hashable_state]) / (1 + visits)
    chosen = int(np.argmax(scores))
    return chosen, scores[chosen]
