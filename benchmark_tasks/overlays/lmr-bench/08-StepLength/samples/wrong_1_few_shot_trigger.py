# Wrong: few_shot_cot also gets the chain-of-thought trigger, which only zero_shot_cot and auto_cot use.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    k = x if args_method.startswith("zero_shot") else f"{demo1}{x}"
    if args_method.endswith("_cot"):
        k = f"{k} {args_cot_trigger}"
    elif args_method == "zero_shot":
        k = f"{k} {args_direct_answer_trigger_for_zeroshot}"
    return k
