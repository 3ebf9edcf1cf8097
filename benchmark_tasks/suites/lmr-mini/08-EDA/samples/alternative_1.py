def augment(words, lexicon, draws, *, alpha):
    """One operation after the other, without nested functions."""
    count = max(1, int(len(words) * alpha))
    variants = {"replaced": list(words), "inserted": list(words), "swapped": list(words), "deleted": []}

    order = draws.shuffled(lexicon.replaceable(words))
    for target in order[: min(count, len(order))]:
        options = lexicon.synonyms(target)
        synonym = options[draws.index(len(options))]
        for place, word in enumerate(words):
            if word == target:
                variants["replaced"][place] = synonym

    remaining = count
    while remaining and (sources := lexicon.replaceable(variants["inserted"])):
        source = draws.choose(sources)
        synonym = draws.choose(lexicon.synonyms(source))
        place = draws.index(1 + len(variants["inserted"]))
        variants["inserted"][place:place] = [synonym]
        remaining -= 1

    if len(words) >= 2:
        for _ in range(count):
            pair = [draws.index(len(words)) for _ in range(2)]
            one, other = (variants["swapped"][place] for place in pair)
            variants["swapped"][pair[0]] = other
            variants["swapped"][pair[1]] = one
        for word in words:
            if not draws.uniform() < alpha:
                variants["deleted"].append(word)
        if not variants["deleted"]:
            variants["deleted"].append(draws.choose(words))
    else:
        variants["deleted"] = list(words)
    return variants
