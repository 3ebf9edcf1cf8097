# Right: a running maximum, with the state's visits added up from its actions as in the paper.


def find_best_action(self, hashable_state):
    """Return the valid action with the highest PUCT value, and that value."""
    q, n, p = self.Q[hashable_state], self.Nsa[hashable_state], self.P[hashable_state]
    root_of_visits = sum(n.values()) ** 0.5
    best_action, best_uct = None, -math.inf
    for action in self.valid_moves[hashable_state]:
        uct = q[action] + self.configs.cpuct * p[action] * root_of_visits / (n[action] + 1)
        if best_action is None or uct > best_uct:
            best_action, best_uct = action, uct
    return best_action, best_uct
