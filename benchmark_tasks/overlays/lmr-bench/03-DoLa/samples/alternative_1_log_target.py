# Right: a loop with kl_div on log targets, its own plausibility filter, always log-probabilities.
def last_token_log_probs(logits):
    """Log-probabilities at the last position, in float32."""
    return F.log_softmax(logits[:, -1, :].float(), dim=-1)


def jensen_shannon(log_p, log_q):
    """Mean over the batch of JSD(p, q), from log-probabilities."""
    mixture = torch.stack((log_p, log_q)).logsumexp(dim=0) - torch.log(torch.tensor(2.0))
    first = F.kl_div(mixture, log_p, reduction="batchmean", log_target=True)
    second = F.kl_div(mixture, log_q, reduction="batchmean", log_target=True)
    return 0.5 * (first + second)


def keep_plausible(log_p, ratio):
    """Set tokens below ratio times the largest probability to minus infinity."""
    if ratio <= 0.0:
        return log_p
    limit = log_p.max(dim=-1, keepdim=True).values + np.log(ratio)
    return log_p.masked_fill(log_p < limit, -float("inf"))


def dola_greedy_decode_agent(
    self,
    input_ids: torch.LongTensor,
    mature_layer: int,
    base_layer: Optional[int] = None,
    candidate_premature_layers: Optional[List[int]] = None,
    relative_top: float = 0.1,
    logits_processor=None,
    stopping_criteria: Optional[StoppingCriteriaList] = None,
    max_length: Optional[int] = None,
    pad_token_id: Optional[int] = None,
    eos_token_id: Optional[Union[int, List[int]]] = None,
    output_attentions: Optional[bool] = None,
    output_hidden_states: Optional[bool] = None,
    output_scores: Optional[bool] = None,
    return_dict_in_generate: Optional[bool] = None,
    synced_gpus: Optional[bool] = False,
    streamer: Optional["BaseStreamer"] = None,
    **model_kwargs,
):
    """Greedy decoding on log-probability ratios, with a dictionary of distances per step."""
    defaults = self.generation_config
    processors = LogitsProcessorList() if logits_processor is None else logits_processor
    criteria = StoppingCriteriaList() if stopping_criteria is None else stopping_criteria
    if max_length is not None:
        warnings.warn("`max_length` is deprecated here; pass a MaxLengthCriteria instead.", UserWarning)
        criteria = validate_stopping_criteria(criteria, max_length)
    pad_id = defaults.pad_token_id if pad_token_id is None else pad_token_id
    end_ids = defaults.eos_token_id if eos_token_id is None else eos_token_id
    if isinstance(end_ids, int):
        end_ids = [end_ids]
    if end_ids is not None and pad_id is None:
        raise ValueError("`eos_token_id` needs a `pad_token_id` for the rows that have ended.")
    want_scores = defaults.output_scores if output_scores is None else output_scores
    want_attentions = defaults.output_attentions if output_attentions is None else output_attentions
    want_hidden = defaults.output_hidden_states if output_hidden_states is None else output_hidden_states
    as_dict = defaults.return_dict_in_generate if return_dict_in_generate is None else return_dict_in_generate
    two_part = self.config.is_encoder_decoder

    if candidate_premature_layers is not None:
        exits = list(candidate_premature_layers) + [mature_layer]
        layer_counts = dict.fromkeys(candidate_premature_layers, 0)
    elif base_layer is not None:
        exits = [base_layer, mature_layer]
        layer_counts = {}
    else:
        raise ValueError("Either `base_layer` or `candidate_premature_layers` has to be given.")

    kept = {
        "scores": () if as_dict and want_scores else None,
        "attentions": () if as_dict and want_attentions else None,
        "cross": () if as_dict and want_attentions else None,
        "hidden": () if as_dict and want_hidden else None,
    }
    alive = torch.ones(input_ids.shape[0], dtype=torch.long, device=input_ids.device)
    peer_done = False
    while True:
        if synced_gpus:
            running = torch.tensor(0.0 if peer_done else 1.0, device=input_ids.device)
            torch.distributed.all_reduce(running)
            if running.item() == 0.0:
                break
        inputs = self.prepare_inputs_for_generation(input_ids, **model_kwargs)
        layer_logits, outputs = self(
            **inputs,
            return_dict=True,
            output_attentions=want_attentions,
            output_hidden_states=want_hidden,
            early_exit_layers=exits,
        )
        if synced_gpus and peer_done:
            continue

        log_mature = last_token_log_probs(layer_logits[mature_layer])
        premature = base_layer
        if premature is None:
            distance = {
                layer: jensen_shannon(log_mature, last_token_log_probs(layer_logits[layer])).item()
                for layer in candidate_premature_layers
            }
            premature = max(distance, key=distance.get)
            layer_counts[premature] += 1
        contrast = keep_plausible(log_mature, relative_top) - last_token_log_probs(layer_logits[premature])

        step_scores = processors(input_ids, contrast)
        if kept["scores"] is not None:
            kept["scores"] += (step_scores,)
        if kept["attentions"] is not None:
            kept["attentions"] += (outputs.decoder_attentions if two_part else outputs.attentions,)
            if two_part:
                kept["cross"] += (outputs.cross_attentions,)
        if kept["hidden"] is not None:
            kept["hidden"] += (outputs.decoder_hidden_states if two_part else outputs.hidden_states,)

        chosen = step_scores.argmax(dim=-1)
        if end_ids is not None:
            chosen = torch.where(alive.bool(), chosen, torch.full_like(chosen, pad_id))
        input_ids = torch.cat([input_ids, chosen.unsqueeze(-1)], dim=-1)
        if streamer is not None:
            streamer.put(chosen.cpu())
        model_kwargs = self._update_model_kwargs_for_generation(outputs, model_kwargs, is_encoder_decoder=two_part)
        if end_ids is not None:
            alive = alive * torch.isin(chosen, torch.tensor(end_ids, device=chosen.device)).logical_not().long()
        if alive.max() == 0 or criteria(input_ids, kept["scores"]):
            if not synced_gpus:
                break
            peer_done = True

    if streamer is not None:
        streamer.end()
    if not as_dict:
        return input_ids
    if two_part:
        from transformers.generation.utils import GreedySearchEncoderDecoderOutput

        encoder = model_kwargs["encoder_outputs"]
        return GreedySearchEncoderDecoderOutput(
            sequences=input_ids,
            scores=kept["scores"],
            encoder_attentions=encoder.get("attentions") if want_attentions else None,
            encoder_hidden_states=encoder.get("hidden_states") if want_hidden else None,
            decoder_attentions=kept["attentions"],
            cross_attentions=kept["cross"],
            decoder_hidden_states=kept["hidden"],
        )
    return GreedySearchDecoderOnlyOutput(
        sequences=input_ids,
        scores=kept["scores"],
        attentions=kept["attentions"],
        hidden_states=kept["hidden"],
        premature_layer_dist=layer_counts,
    )
