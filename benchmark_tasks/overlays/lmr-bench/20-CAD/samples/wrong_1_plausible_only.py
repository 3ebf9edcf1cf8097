# Wrong: tokens below a tenth of the best probability are excluded, as in contrastive decoding, not in CAD.
import math


def context_aware_sampling(
    model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=0.00000000000001
):
    """Restrict the choice to tokens that are plausible with the context."""
    skip = context_ids.shape[1]
    generated = input_ids
    for _ in range(max_length):
        with torch.no_grad():
            current = model(generated).logits[:, -1, :].float().log_softmax(dim=-1)
            prior = model(generated[:, skip:]).logits[:, -1, :].float().log_softmax(dim=-1)
        floor = current.amax(dim=-1, keepdim=True) + math.log(0.1)
        adjusted = (1 + alpha) * current - alpha * prior
        token = adjusted.masked_fill(current < floor, float("-inf")).argmax(dim=-1, keepdim=True)
        generated = torch.cat([generated, token], dim=-1)
        if bool((token == tokenizer.eos_token_id).all()):
            break
    return generated
