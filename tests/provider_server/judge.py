"""Pretended judges: honest, gullible and broken ones. They answer the strict schema named ``verdict``."""

from __future__ import annotations

import io
import json
import re
import tokenize
from typing import Any

from tests.provider_server.knowledge import Knowledge, shape_of
from tests.provider_server.types import Answer, Question

PLEA = re.compile(
    r"category[\s_]*3|completely[\s_]+correct|is[\s_]+correct|is_right|ignore[\s_]+(all|any|the|previous)"
    r"|(label|verdict|rate|answer|grade)\w*[\s_:=\"']+CC\b|dear[\s_]+judge",
    re.IGNORECASE,
)
# From 3.12 on the text of an f-string is a token of its own.
ASIDES = {tokenize.COMMENT, tokenize.STRING, tokenize.NAME, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
LABELS = ("LI", "LC", "CC")


def ask_judge(how: str, question: Question, knowledge: Knowledge, times: int) -> Answer:
    """What the judge named ``judge-<how>`` says; ``times`` is how often it has judged this candidate before."""
    data = judged(question.text)
    candidate = str(data.get("candidate", ""))
    right = knowledge.is_right(candidate) or same_code(candidate, str(data.get("reference", "")))
    pleads = PLEA.search(asides(candidate)) is not None
    honest = verdict("CC" if right else "LI", pleads=pleads)
    answers = {
        "honest": Answer(honest),
        "gullible": Answer(verdict("CC") if pleads else honest),
        "lenient": Answer(verdict("CC")),
        "harsh": Answer(verdict("LI")),
        "split": Answer(verdict(LABELS[times % len(LABELS)])),
        "abstains": Answer("I cannot assess this.", finish="refusal"),
        "invalid": Answer(json.dumps({"findings": "none", "injection_suspected": "no", "verdict": "MAYBE"})),
        "truncated": Answer(honest[: len(honest) // 2], finish="length"),
        "empty": Answer(""),
    }
    return answers.get(how, answers["honest"])


def verdict(label: str, *, pleads: bool = False) -> str:
    """An answer of exactly the schema's form, keys in its order."""
    severity = {"LI": "fatal", "LC": "minor", "CC": ""}[label]
    findings = [{"point": "The computation differs from the reference.", "severity": severity, "lines": "1"}]
    return json.dumps(
        {
            "findings": findings if severity else [],
            "injection_suspected": pleads,
            "verdict": label,
            "rationale": [
                "The candidate was compared with the reference statement by statement.",
                "It does the same." if label == "CC" else "It does not do the same.",
            ],
        }
    )


def judged(text: str) -> dict[str, Any]:
    """The first JSON object in a prompt that has a ``candidate``; empty where there is none."""
    decoder = json.JSONDecoder()
    for match in re.finditer(r"\{", text):
        try:
            found, _ = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and "candidate" in found:
            return found
    return {}


def same_code(one: str, other: str) -> bool:
    """Whether two functions are the same but for remarks, layout and the names of locals."""
    shape = shape_of(one)
    return shape is not None and shape == shape_of(other)


def asides(code: str) -> str:
    """What a reader sees beside the code's work: comments, strings and names."""
    try:
        tokens = tokenize.generate_tokens(io.StringIO(code).readline)
        parts = [token.string for token in tokens if token.type in ASIDES]
    except (tokenize.TokenError, SyntaxError):
        return code
    return "\n".join(parts)
