# Right: a table says which demonstration and which trigger surround the question.
from typing import NamedTuple


class Layout(NamedTuple):
    """What surrounds the question."""

    demonstration: bool
    trigger: object


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    layouts = {
        "zero_shot": Layout(False, args_direct_answer_trigger_for_zeroshot),
        "zero_shot_cot": Layout(False, args_cot_trigger),
        "few_shot": Layout(True, None),
        "few_shot_cot": Layout(True, None),
        "auto_cot": Layout(True, args_cot_trigger),
    }
    if args_method not in layouts:
        raise ValueError("unsupported method: " + str(args_method))
    layout = layouts[args_method]
    prompt = str(demo1) + x if layout.demonstration else x
    return prompt if layout.trigger is None else prompt + " " + layout.trigger
