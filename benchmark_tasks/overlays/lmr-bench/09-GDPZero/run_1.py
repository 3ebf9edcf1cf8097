"""Calls `find_best_action`, alone and within searches of a small game."""

from types import SimpleNamespace

import numpy as np
from probe_tools import absent

# Language models, which the tree search does not need.
absent("core.gen_models")

from core.game import DialogGame  # noqa: E402 - after the stand-in
from core.helpers import DialogSession  # noqa: E402
from core.mcts import OpenLoopMCTS  # noqa: E402
from core.players import DialogPlanner  # noqa: E402


class Game(DialogGame):
    """The system acts, the user answers something new; taking the goal action in the last turn succeeds."""

    def __init__(self, case):
        super().__init__("system", None, "user", None)
        self._case = case
        self._answers = 0

    @staticmethod
    def get_game_ontology():
        return {}

    def get_next_state(self, state, action):
        self._answers += 1
        following = state.copy()
        following.add_single(state.SYS, self._case["actions"][action], f"words {self._answers}")
        following.add_single(state.USR, "neutral", f"answer {self._answers}")
        return following

    def get_dialog_ended(self, state):
        return float(_last_action(self._case, state) == self._case["goal"] and len(state) >= self._case["depth"])


class Planner(DialogPlanner):
    """Prior and value from the case's tables."""

    def __init__(self, case):
        self._case = case
        self.dialog_acts = case["actions"]

    def get_valid_moves(self, _state):
        return np.isin(np.arange(len(self.dialog_acts)), self._case["valid"]).astype(int)

    def predict(self, state):
        place = min(len(state), self._case["depth"]), _last_action(self._case, state)
        return self._case["priors"][place], float(self._case["values"][place])


class Search(OpenLoopMCTS):
    """States start with one visit of each action: the formula leaves open which action is best without any."""

    def _init_node(self, state):
        value = super()._init_node(state)
        name = self._to_string_rep(state)
        self.Nsa[name] = dict.fromkeys(self.Nsa[name], 1)
        self.Ns[name] = len(self.Nsa[name])
        return value


def _last_action(case, state):
    """The number of the system's last action; the one after all others at the start."""
    return case["actions"].index(state[-2][1]) if len(state) else len(case["actions"])


def _search(case):
    np.random.seed(case["seed"])
    settings = SimpleNamespace(cpuct=case["cpuct"], max_realizations=3, Q_0=case["q_0"])
    search = Search(Game(case), Planner(case), settings)
    start = DialogSession("system", "user")
    for _ in range(case["searches"]):
        search.search(start)
    return {
        "visits": {state: int(visits) for state, visits in search.Ns.items()},
        "values": {state: np.array(list(values.values()), dtype=float) for state, values in search.Q.items()},
        "policy": search.get_action_prob(start),
    }


def _choose(case):
    search = OpenLoopMCTS(None, None, SimpleNamespace(cpuct=case["cpuct"], max_realizations=3, Q_0=0.0))
    for state, known in case["tree"].items():
        moves = known["moves"]
        search.valid_moves[state] = moves
        search.P[state] = known["prior"]
        search.Ns[state] = int(known["counts"].sum())
        search.Nsa[state] = {move: int(count) for move, count in zip(moves, known["counts"], strict=True)}
        search.Q[state] = {move: float(value) for move, value in zip(moves, known["values"], strict=True)}
    action, score = search.find_best_action(case["asked"])
    return {"action": int(action), "score": float(score)}


def run(case):
    """Return the chosen action and its score, or what many searches that choose by it have counted."""
    return _choose(case) if "tree" in case else _search(case)
