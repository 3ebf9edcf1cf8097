# Wrong: the root also covers the action's count, sqrt(N / (1 + n)), so the bonus falls too slowly.
def find_best_action(self, hashable_state):
    """Score with the ratio of visits under one root."""
    total = self.Ns[hashable_state]
    ranking = {}
    for move in self.valid_moves[hashable_state]:
        ratio = total / (1 + self.Nsa[hashable_state][move])
        ranking[move] = self.Q[hashable_state][move] + self.configs.cpuct * self.P[hashable_state][move] * ratio**0.5
    chosen = max(ranking, key=ranking.get)
    return chosen, ranking[chosen]
