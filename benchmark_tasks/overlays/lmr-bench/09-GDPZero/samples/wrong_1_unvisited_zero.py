# Wrong: an action without visits has value 0 instead of its initial value Q_0.


def find_best_action(self, hashable_state):
    """Return the valid action with the highest PUCT value, and that value."""
    value, count = self.Q[hashable_state], self.Nsa[hashable_state]
    prior = self.P[hashable_state]
    scale = self.configs.cpuct * math.sqrt(self.Ns[hashable_state])
    best_action, best_uct = None, float("-inf")
    for action in self.valid_moves[hashable_state]:
        uct = (value[action] if count[action] > 0 else 0.0) + scale * prior[action] / (1 + count[action])
        if uct > best_uct:
            best_action, best_uct = action, uct
    return best_action, best_uct
