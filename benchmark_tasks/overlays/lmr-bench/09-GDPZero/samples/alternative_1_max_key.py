# Right: the maximum over the valid moves by a key function, with the exact formula of the code comment.


def find_best_action(self, hashable_state):
    """Return the valid action with the highest PUCT value, and that value."""
    visits = self.Nsa[hashable_state]
    exploration = self.configs.cpuct * math.sqrt(self.Ns[hashable_state])

    def puct(action):
        prior = self.P[hashable_state][action]
        return self.Q[hashable_state][action] + exploration * prior / (1 + visits[action])

    best_action = max(self.valid_moves[hashable_state], key=puct)
    return best_action, puct(best_action)
