# Right: NumPy arrays over the valid moves and argmax.


def find_best_action(self, hashable_state):
    """Return the valid action with the highest PUCT value, and that value."""
    moves = list(self.valid_moves[hashable_state])

    def gather(table):
        return np.array([table[move] for move in moves], dtype=float)

    value = gather(self.Q[hashable_state])
    prior = gather(self.P[hashable_state])
    count = gather(self.Nsa[hashable_state])
    scores = value + self.configs.cpuct * prior * np.sqrt(self.Ns[hashable_state]) / (1.0 + count)
    winner = int(np.argmax(scores))
    return moves[winner], float(scores[winner])
