# Right: classifier-free guidance of model.generate with scale 1 + alpha and the question as negative prompt.
from transformers import GenerationConfig


def context_aware_sampling(
    model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=0.00000000000001
):
    """Pass the question as the negative prompt."""
    if max_length < 1:
        return input_ids
    question = input_ids[:, context_ids.size(1) :]
    end = tokenizer.eos_token_id
    settings = GenerationConfig(
        guidance_scale=1.0 + alpha,
        max_new_tokens=max_length,
        do_sample=False,
        num_beams=1,
        eos_token_id=end,
        pad_token_id=end,
    )
    return model.generate(
        inputs=input_ids,
        attention_mask=torch.ones_like(input_ids),
        negative_prompt_ids=question,
        generation_config=settings,
    )
