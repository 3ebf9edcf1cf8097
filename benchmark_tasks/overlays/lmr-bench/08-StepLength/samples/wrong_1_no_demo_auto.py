# Wrong: auto_cot drops the demonstration and so equals zero_shot_cot.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    match args_method:
        case "zero_shot":
            return x + " " + args_direct_answer_trigger_for_zeroshot
        case "zero_shot_cot" | "auto_cot":
            return x + " " + args_cot_trigger
        case "few_shot" | "few_shot_cot":
            return str(demo1) + x
    raise ValueError(args_method)
