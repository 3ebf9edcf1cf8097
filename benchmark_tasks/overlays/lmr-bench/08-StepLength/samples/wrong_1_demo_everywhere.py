# Wrong: the demonstration precedes the question in the zero-shot methods too.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    prompt = f"{demo1 or ''}{x}"
    if args_method == "zero_shot":
        prompt += f" {args_direct_answer_trigger_for_zeroshot}"
    elif args_method in ("zero_shot_cot", "auto_cot"):
        prompt += f" {args_cot_trigger}"
    return prompt
