"""The ``check`` object of a sealed task: cases, seeds, comparison, limits. No Django here.

Source of names and defaults: docs/authoring-tasks.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from benchmark_tasks.domain.suite_folder import CheckInfo, EquivalentMutant

if TYPE_CHECKING:
    from benchmark_tasks.domain.keys import Keys

DEFAULT_RULE: Final[dict[str, Any]] = {
    "exact": False,
    "rtol": 1e-6,
    "atol": 1e-8,
    "ordered": True,
    "equal_nan": False,
}
DEFAULT_WALL_SECONDS: Final = 30.0
DEFAULT_MEMORY_MB: Final = 512
DEFAULT_PRIVATE_SEEDS: Final = 3
MAXIMUM_SEED: Final = 2**31 - 1

_MAXIMUM_SEEDS: Final = 100
_MAXIMUM_OUTPUT_NAME: Final = 120
_MAXIMUM_MUTANT: Final = 300
_MAXIMUM_REASON: Final = 1000


def read_check(keys: Keys) -> CheckInfo:
    """The declared check with every default written out; what is wrong is reported in ``keys``.

    ``settings`` has ``public_seeds`` (list of int), ``private_seeds`` (how many), ``comparison`` (``default`` and
    ``outputs``, each rule complete; an output's rule starts from the default one), ``wall_seconds``, ``memory_mb``.
    Equivalent mutants are none of them: they change no grade.
    """
    cases_file = keys.path("cases_file")
    if not cases_file and "cases_file" not in keys.refused:
        keys.complain(f"{keys.name} must name its cases_file")
    private = keys.whole("private_seeds", low=1, high=_MAXIMUM_SEEDS)
    wall = keys.number("wall_seconds", low=0.1, high=3600)
    memory = keys.whole("memory_mb", low=32, high=65536)
    settings = {
        "public_seeds": _public_seeds(keys),
        "private_seeds": DEFAULT_PRIVATE_SEEDS if private is None else private,
        "comparison": _comparison(keys.object("comparison")),
        "wall_seconds": DEFAULT_WALL_SECONDS if wall is None else wall,
        "memory_mb": DEFAULT_MEMORY_MB if memory is None else memory,
    }
    mutants = read_equivalent_mutants(keys)
    keys.finish(fatal=True)
    return CheckInfo(cases_file, settings, mutants)


def read_equivalent_mutants(keys: Keys) -> tuple[EquivalentMutant, ...]:
    """``equivalent_mutants`` of an object: changes of the golden function that change nothing, says its author."""
    found = []
    for item in keys.objects("equivalent_mutants"):
        mutant, reason = item.text("mutant", limit=_MAXIMUM_MUTANT), item.text("reason", limit=_MAXIMUM_REASON)
        if mutant and reason:
            found.append(EquivalentMutant(mutant, reason))
        elif not item.refused:
            item.complain(f"{item.name} must name a mutant, and the reason why it changes nothing")
        item.finish(fatal=True)
    return tuple(found)


def _public_seeds(keys: Keys) -> list[int]:
    node = keys.take("public_seeds", list)
    values = [item.value for item in node.value] if node is not None and isinstance(node.value, list) else []
    seeds = [value for value in values if type(value) is int and 0 <= value <= MAXIMUM_SEED]
    if not 1 <= len(seeds) <= _MAXIMUM_SEEDS or len(seeds) != len(values) or len(set(seeds)) != len(seeds):
        wanted = f"1 to {_MAXIMUM_SEEDS} different whole numbers from 0 to {MAXIMUM_SEED}"
        keys.complain(f"{keys.name}.public_seeds must list {wanted}", node)
    return seeds


def _comparison(keys: Keys | None) -> dict[str, Any]:
    default, outputs = dict(DEFAULT_RULE), {}
    if keys is not None:
        default = _rule(keys.object("default"), DEFAULT_RULE)
        named = keys.object("outputs")
        for name in named.names() if named is not None else ():
            if named is not None:
                if not name.isprintable() or not 1 <= len(name) <= _MAXIMUM_OUTPUT_NAME:
                    named.complain(f"{named.name} names an output {ascii(name)[:60]}; use a short printable name")
                outputs[name] = _rule(named.object(name), default)
        keys.finish(fatal=True)
    return {"default": default, "outputs": outputs}


def _rule(keys: Keys | None, base: dict[str, Any]) -> dict[str, Any]:
    rule = dict(base)
    if keys is None:
        return rule
    given: dict[str, Any] = {name: keys.flag(name) for name in ("exact", "ordered", "equal_nan")}
    given |= {name: keys.number(name, low=0, high=1e300) for name in ("rtol", "atol")}
    rule |= {name: value for name, value in given.items() if value is not None}
    tolerant = given["rtol"] is not None or given["atol"] is not None
    if given["exact"] and tolerant:
        keys.complain(f"{keys.name} cannot be exact and have tolerances; remove one")
    if tolerant and given["exact"] is None:
        rule["exact"] = False
    keys.finish(fatal=True)
    return rule
