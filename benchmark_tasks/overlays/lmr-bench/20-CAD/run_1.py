"""Calls `context_aware_sampling` with a small model that has the interface of a causal language model."""

import logging
from unittest import mock

import torch
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

# The module writes a log file beside itself as soon as it is imported.
with mock.patch.object(logging, "basicConfig"), mock.patch("pathlib.Path.mkdir"):
    from unit_test.unit_test_1 import context_aware_sampling


class BagModel(PreTrainedModel, GenerationMixin):
    """Predicts the next token from the sum of all embeddings so far and from the last token."""

    def __init__(self, case):
        super().__init__(PretrainedConfig(eos_token_id=case["end"], pad_token_id=case["end"]))
        for name in ("embedding", "bigram", "head", "bias"):
            setattr(self, name, torch.nn.Parameter(torch.tensor(case[name])))
        self.eval()

    def forward(self, input_ids, attention_mask=None, past_key_values=None, use_cache=None, **_options):
        """Return logits, and the sum so far as the cache if one is wanted."""
        vectors = self.embedding[input_ids]
        if attention_mask is not None:
            vectors = vectors * attention_mask[:, -input_ids.shape[1] :, None]
        total = vectors.cumsum(dim=1)
        if past_key_values is not None:
            total = total + past_key_values[0][0]
        logits = torch.tanh(total) @ self.head + self.bigram[input_ids] + self.bias
        return CausalLMOutputWithPast(logits=logits, past_key_values=((total[:, -1:],),) if use_cache else None)


class Tokenizer:
    """The ids and the decoding that a tokenizer of this model has."""

    def __init__(self, end):
        self.eos_token_id = self.pad_token_id = end

    def decode(self, ids, skip_special_tokens=False):
        """Return the ids as text."""
        return " ".join(str(int(token)) for token in ids if not (skip_special_tokens and token == self.eos_token_id))


def run(case):
    """Return the generated sequence; whether it shows the end token that stopped it is open."""
    torch.manual_seed(0)
    context = torch.tensor([case["context"]])
    prompt = torch.tensor([case["context"] + case["question"]])
    found = context_aware_sampling(BagModel(case), Tokenizer(case["end"]), prompt, context_ids=context)
    (tokens,) = found.tolist()
    return {"tokens": tokens[:-1] if tokens[-1] == case["end"] else tokens}
