# Wrong: the demonstration follows the question instead of preceding it.


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    """Build the input of the agent for one prompting method."""
    endings = {
        "zero_shot": f" {args_direct_answer_trigger_for_zeroshot}",
        "zero_shot_cot": f" {args_cot_trigger}",
        "few_shot": f"{demo1}",
        "few_shot_cot": f"{demo1}",
        "auto_cot": f"{demo1} {args_cot_trigger}",
    }
    return x + endings[args_method]
