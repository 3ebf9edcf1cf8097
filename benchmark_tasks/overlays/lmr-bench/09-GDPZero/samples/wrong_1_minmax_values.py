# Wrong: the values are rescaled to the range 0 to 1 within the node, as in MuZero, before the bonus is added.
import numpy as np


def find_best_action(self, hashable_state):
    """Score with values rescaled by the smallest and largest value of the node."""
    legal = list(self.valid_moves[hashable_state])
    values = np.array([self.Q[hashable_state][move] for move in legal], dtype=float)
    spread = values.max() - values.min()
    if spread > 0:
        values = (values - values.min()) / spread
    visits = np.array([self.Nsa[hashable_state][move] for move in legal])
    priors = np.array([self.P[hashable_state][move] for move in legal])
    scores = values + self.configs.cpuct * priors * np.sqrt(self.Ns[hashable_state]) / (1 + visits)
    place = int(scores.argmax())
    return legal[place], scores[place]
