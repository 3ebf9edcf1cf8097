# Wrong: a test by prefix gives zero_shot_cot the direct answer trigger.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    if args_method.startswith("zero_shot"):
        k = f"{x} {args_direct_answer_trigger_for_zeroshot}"
    elif args_method.startswith("few_shot"):
        k = f"{demo1}{x}"
    else:
        k = f"{demo1}{x} {args_cot_trigger}"
    return k
