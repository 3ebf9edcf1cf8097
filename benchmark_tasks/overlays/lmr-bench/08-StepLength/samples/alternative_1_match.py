# Right: a match statement with f-strings; an unknown method raises ValueError.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    match args_method:
        case "zero_shot":
            return f"{x} {args_direct_answer_trigger_for_zeroshot}"
        case "zero_shot_cot":
            return f"{x} {args_cot_trigger}"
        case "few_shot" | "few_shot_cot":
            return f"{demo1}{x}"
        case "auto_cot":
            return f"{demo1}{x} {args_cot_trigger}"
    raise ValueError(f"unknown prompting method: {args_method!r}")
