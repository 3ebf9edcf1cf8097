# Wrong: zero_shot_cot gets the direct answer trigger behind the chain-of-thought trigger.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    parts = [x]
    if args_method in ("zero_shot_cot", "auto_cot"):
        parts.append(args_cot_trigger)
    if "zero_shot" in args_method:
        parts.append(args_direct_answer_trigger_for_zeroshot)
    prompt = " ".join(parts)
    return prompt if "zero_shot" in args_method else f"{demo1}{prompt}"
