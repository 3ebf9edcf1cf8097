# Wrong: the logarithm of the visit count, as in UCB1, replaces the count itself.


def find_best_action(self, hashable_state):
    """Return the valid action with the highest PUCT value, and that value."""
    value, count = self.Q[hashable_state], self.Nsa[hashable_state]
    prior = self.P[hashable_state]
    scale = self.configs.cpuct * math.sqrt(math.log(1 + self.Ns[hashable_state]))
    best_action, best_uct = None, float("-inf")
    for action in self.valid_moves[hashable_state]:
        uct = value[action] + scale * prior[action] / (1 + count[action])
        if uct > best_uct:
            best_action, best_uct = action, uct
    return best_action, best_uct
