# Right: model.generate with a logits processor that adds the contrast.
class ContextContrast(LogitsProcessor):
    """Replace the scores by (1 + alpha) * scores with context - alpha * scores without it."""

    def __init__(self, model, skipped, weight):
        self.model = model
        self.skipped = skipped
        self.weight = weight

    def __call__(self, input_ids, scores):
        bare = input_ids[:, self.skipped :]
        plain = self.model(bare, attention_mask=torch.ones_like(bare)).logits[:, -1, :].to(scores.dtype)
        return scores + self.weight * (scores - plain)


def context_aware_sampling(
    model,
    tokenizer,
    input_ids,
    context_ids,
    alpha=0.9,
    max_length=128,
    temperature=0.00000000000001,
):
    """Let `generate` run the loop and put the contrast into a logits processor."""
    if max_length < 1:
        return input_ids
    contrast = ContextContrast(model, context_ids.shape[1], alpha)
    return model.generate(
        input_ids,
        attention_mask=torch.ones_like(input_ids),
        logits_processor=LogitsProcessorList([contrast]),
        max_new_tokens=max_length,
        do_sample=False,
        num_beams=1,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
    )
