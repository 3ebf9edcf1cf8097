# Wrong: the most visited action is taken, with its PUCT value.


def find_best_action(self, hashable_state):
    """Return the valid action with the highest PUCT value, and that value."""
    count = self.Nsa[hashable_state]
    best_action = max(self.valid_moves[hashable_state], key=lambda action: count[action])
    bonus = self.P[hashable_state][best_action] * math.sqrt(self.Ns[hashable_state]) / (1 + count[best_action])
    return best_action, self.Q[hashable_state][best_action] + self.configs.cpuct * bonus
