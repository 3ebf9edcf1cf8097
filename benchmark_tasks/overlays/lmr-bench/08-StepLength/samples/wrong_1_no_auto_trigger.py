# Wrong: auto_cot is treated like few_shot_cot, so its chain-of-thought trigger is missing.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    if args_method == "zero_shot":
        return " ".join([x, args_direct_answer_trigger_for_zeroshot])
    if args_method == "zero_shot_cot":
        return " ".join([x, args_cot_trigger])
    if args_method in ("few_shot", "few_shot_cot", "auto_cot"):
        return "".join([str(demo1), x])
    raise ValueError("unknown method")
