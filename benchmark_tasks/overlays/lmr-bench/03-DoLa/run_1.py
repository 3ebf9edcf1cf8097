"""Calls `dola_greedy_decode_agent` as a method of a small model, with the repository's own copy of transformers."""

import logging
import sys
from unittest import mock

import torch
from probe_tools import absent

sys.path.insert(1, f"{sys.path[0]}/transformers/src")
# The copy would refuse the installed versions of NumPy and tokenizers.
absent("transformers.dependency_versions_check")
# The goal's module writes a log file beside itself as soon as it is imported, and puts a folder of its own first.
with mock.patch.object(logging, "basicConfig"), mock.patch("pathlib.Path.mkdir"):
    from transformers import PretrainedConfig, PreTrainedModel
    from transformers.generation.logits_process import LogitsProcessorList, RepetitionPenaltyLogitsProcessor
    from transformers.generation.stopping_criteria import (
        LLamaQaStoppingCriteria,
        StoppingCriteria,
        StoppingCriteriaList,
    )
    from transformers.modeling_outputs import CausalLMOutput
    from unit_test.unit_test_1 import dola_greedy_decode_agent

FILTERED = -1e3


class TableModel(PreTrainedModel):
    """Logits of some layers from a table, turned by what the sequence has said so far."""

    def __init__(self, case):
        super().__init__(PretrainedConfig(is_encoder_decoder=case["encoder_decoder"]))
        self.layers = case["layers"]
        self.table = torch.tensor(case["logits"])
        for name, value in case["defaults"].items():
            setattr(self.generation_config, name, value)

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, decoder_attention_mask=None, **_state):
        """Return what a forward pass needs: there is no cache, and an encoder would say nothing."""
        mask = attention_mask if decoder_attention_mask is None else decoder_attention_mask
        return {"input_ids": input_ids, "attention_mask": mask}

    def forward(
        self,
        input_ids,
        attention_mask=None,
        early_exit_layers=None,
        return_dict=False,
        output_attentions=False,
        output_hidden_states=False,
    ):
        """Return the logits of the layers that are asked for, and the outputs of the last of them."""
        said = (input_ids if attention_mask is None else input_ids * attention_mask).cumsum(dim=1)
        vocabulary = self.table.shape[-1]
        turned = (torch.arange(vocabulary) - said[..., None]) % vocabulary
        logits = {
            layer: self.table[self.layers.index(layer), :, : said.shape[1]].gather(-1, turned)
            for layer in early_exit_layers
        }
        shown = CausalLMOutput(
            logits=logits[early_exit_layers[-1]],
            attentions=(1.0 / (1.0 + said),) if output_attentions else None,
            hidden_states=(said.sqrt(),) if output_hidden_states else None,
        )
        return logits, shown if return_dict else shown.to_tuple()


class TableEnds(StoppingCriteria):
    """Stops where the table has no more logits."""

    def __init__(self, longest):
        self.longest = longest

    def __call__(self, input_ids, _scores, **_options):
        """Return whether the sequence is as long as the table."""
        return input_ids.shape[1] >= self.longest


class Streamer:
    """Writes down what it receives."""

    def __init__(self):
        self.received = []

    def put(self, tokens):
        """Take the tokens of one step."""
        self.received.append(tokens.tolist())

    def end(self):
        """Take the end."""
        self.received.append("end")


def _scores(steps, *, filtered):
    """Return the scores of each step: filtered tokens may have any score that no other token has.

    Without a filter, contrasts of logits and of log-probabilities differ by a number for each row, and both are right.
    """
    if filtered:
        return [step.clamp(min=FILTERED).numpy() for step in steps]
    return [(step - step.amax(dim=-1, keepdim=True)).numpy() for step in steps]


def run(case):
    """Return the sequences and everything that was asked for besides."""
    stops = StoppingCriteriaList([LLamaQaStoppingCriteria(case["stop_words"]), TableEnds(case["longest"])])
    mask_name = "decoder_attention_mask" if case["encoder_decoder"] else "attention_mask"
    state = {} if case["mask"] is None else {mask_name: torch.tensor(case["mask"])}
    processors = LogitsProcessorList([RepetitionPenaltyLogitsProcessor(case["penalty"])] if case["penalty"] else [])
    streamer = Streamer()
    found = dola_greedy_decode_agent(
        TableModel(case),
        torch.tensor(case["prompt"]),
        mature_layer=case["layers"][-1],
        logits_processor=processors or None,
        stopping_criteria=stops if case["stops"] else None,
        streamer=streamer if case["streams"] else None,
        **case["options"],
        **state,
    )
    if isinstance(found, torch.Tensor):
        return {"sequences": found.numpy(), "streamed": streamer.received}
    return {
        "sequences": found.sequences.numpy(),
        "streamed": streamer.received,
        "scores": None
        if found.scores is None
        else _scores(found.scores, filtered=case["options"].get("relative_top") != 0),
        "premature_layers": {str(layer): int(times) for layer, times in found.premature_layer_dist.items()},
        **{
            name: None if found[name] is None else [[layer.numpy() for layer in step] for step in found[name]]
            for name in ("attentions", "hidden_states")
            if name in found
        },
    }
