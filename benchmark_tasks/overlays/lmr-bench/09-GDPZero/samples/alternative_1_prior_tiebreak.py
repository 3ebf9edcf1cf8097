# Right: PUCT with max() over pairs, so that the prior decides between actions of equal score.
def find_best_action(self, hashable_state):
    """Rank (score, prior) pairs; before the first visit all bonuses are zero and the prior decides."""
    root = self.Ns[hashable_state] ** 0.5
    priors = self.P[hashable_state]
    values = self.Q[hashable_state]
    counts = self.Nsa[hashable_state]

    def rank(move):
        exploration = priors[move] * root / (1 + counts[move])
        return values[move] + self.configs.cpuct * exploration, priors[move]

    chosen = max(self.valid_moves[hashable_state], key=rank)
    return chosen, rank(chosen)[0]
