# Wrong: the position among the valid moves is returned instead of the action.


def find_best_action(self, hashable_state):
    """Return the valid action with the highest PUCT value, and that value."""
    value, count = self.Q[hashable_state], self.Nsa[hashable_state]
    prior = self.P[hashable_state]
    scale = self.configs.cpuct * math.sqrt(self.Ns[hashable_state])
    best_action, best_uct = None, float("-inf")
    for position, action in enumerate(self.valid_moves[hashable_state]):
        uct = value[action] + scale * prior[action] / (1 + count[action])
        if uct > best_uct:
            best_action, best_uct = position, uct
    return best_action, best_uct
