# Wrong: the two triggers are swapped between zero_shot and zero_shot_cot.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    if args_method == "zero_shot":
        k = f"{x} {args_cot_trigger}"
    elif args_method == "zero_shot_cot":
        k = f"{x} {args_direct_answer_trigger_for_zeroshot}"
    elif args_method in {"few_shot", "few_shot_cot"}:
        k = f"{demo1}{x}"
    elif args_method == "auto_cot":
        k = f"{demo1}{x} {args_cot_trigger}"
    else:
        raise ValueError(args_method)
    return k
