# Wrong: all actions are searched, so an invalid action without visits may win.


def find_best_action(self, hashable_state):
    """Return the valid action with the highest PUCT value, and that value."""
    value, count = self.Q[hashable_state], self.Nsa[hashable_state]
    prior = self.P[hashable_state]
    scale = self.configs.cpuct * math.sqrt(self.Ns[hashable_state])
    best_action, best_uct = None, float("-inf")
    for action in range(len(prior)):
        uct = value.get(action, self.configs.Q_0) + scale * prior[action] / (1 + count.get(action, 0))
        if uct > best_uct:
            best_action, best_uct = action, uct
    return best_action, best_uct
