# Right: PUCT for all legal actions in one array, with the visits of the node summed from its actions.
import numpy as np


def find_best_action(self, hashable_state):
    """Score the legal actions as an array and take the largest score."""
    legal = np.asarray(self.valid_moves[hashable_state], dtype=int)
    visits = np.array([self.Nsa[hashable_state][m] for m in legal], dtype=float)
    values = np.array([self.Q[hashable_state][m] for m in legal], dtype=float)
    priors = np.asarray(self.P[hashable_state], dtype=float)[legal]
    bonus = self.configs.cpuct * priors * np.sqrt(visits.sum()) / (visits + 1.0)
    scores = values + bonus
    winner = scores.argmax()
    return int(legal[winner]), float(scores[winner])
