# Wrong: few_shot and few_shot_cot return the demonstration without the question.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    k = str(demo1)
    if args_method == "auto_cot":
        k += x + " " + args_cot_trigger
    elif args_method == "zero_shot":
        k = x + " " + args_direct_answer_trigger_for_zeroshot
    elif args_method == "zero_shot_cot":
        k = x + " " + args_cot_trigger
    return k
