import math


def contrastive_beam_search(
    expert, amateur, prompt, *, end_token, beam_size, max_new_tokens, alpha=0.1, amateur_temperature=1.0
):
    """Keeps finished and open hypotheses apart and works with token lists."""
    done, alive = [], [([], 0.0)]
    for _ in range(max_new_tokens):
        if not alive:
            break
        pool = [(-score, tuple(tokens), True) for tokens, score in done]
        for tokens, score in alive:
            context = tuple(prompt) + tuple(tokens)
            strong = log_softmax(expert.next_logits(context)).tolist()
            weak = log_softmax(amateur.next_logits(context), amateur_temperature).tolist()
            floor = math.log(alpha) + max(strong)
            for token, (log_p, log_q) in enumerate(zip(strong, weak)):
                if log_p >= floor:
                    pool.append((-(score + (log_p - log_q)), (*tokens, token), token == end_token))
        pool.sort()
        kept = pool[:beam_size]
        done = [(list(tokens), -cost) for cost, tokens, ended in kept if ended]
        alive = [(list(tokens), -cost) for cost, tokens, ended in kept if not ended]
    final = [Hypothesis(tuple(t), s, True) for t, s in done] + [Hypothesis(tuple(t), s, False) for t, s in alive]
    return rank(final)
