# Right: the pieces are collected in a list and joined at the end.
KNOWN_METHODS = ("zero_shot", "zero_shot_cot", "few_shot", "few_shot_cot", "auto_cot")


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    if args_method not in KNOWN_METHODS:
        raise ValueError("method must be one of " + ", ".join(KNOWN_METHODS))
    pieces = []
    if not args_method.startswith("zero_shot"):
        pieces.append(str(demo1))
    pieces.append(x)
    if args_method == "zero_shot":
        pieces += [" ", args_direct_answer_trigger_for_zeroshot]
    elif args_method in ("zero_shot_cot", "auto_cot"):
        pieces += [" ", args_cot_trigger]
    return "".join(pieces)
