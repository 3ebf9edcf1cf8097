# Wrong: auto_cot puts the chain-of-thought trigger between the demonstration and the question.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    if args_method == "auto_cot":
        return f"{demo1}{args_cot_trigger} {x}"
    if args_method in ("few_shot", "few_shot_cot"):
        return f"{demo1}{x}"
    trigger = args_cot_trigger if args_method == "zero_shot_cot" else args_direct_answer_trigger_for_zeroshot
    return f"{x} {trigger}"
