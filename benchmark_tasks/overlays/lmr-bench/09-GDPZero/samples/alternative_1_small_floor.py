# Right: a tiny floor under the visit count lets the prior decide at a state without visits.


def find_best_action(self, hashable_state):
    """Return the valid action with the highest PUCT value, and that value."""
    total = max(self.Ns[hashable_state], 1e-8)
    scored = []
    for action in self.valid_moves[hashable_state]:
        bonus = self.P[hashable_state][action] * math.sqrt(total) / (1 + self.Nsa[hashable_state][action])
        scored.append((self.Q[hashable_state][action] + self.configs.cpuct * bonus, action))
    best_uct, best_action = max(scored, key=lambda pair: pair[0])
    return best_action, best_uct
