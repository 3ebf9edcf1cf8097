def augment(words, lexicon, draws, *, alpha):
    """Draws the synonyms from the original sentence only, inserts before a word only, and replaces first occurrences only."""
    count = max(1, int(alpha * len(words)))
    replaced = list(words)
    for word in draws.shuffled(lexicon.replaceable(words))[:count]:
        replaced[replaced.index(word)] = draws.choose(lexicon.synonyms(word))
    inserted = list(words)
    sources = lexicon.replaceable(words)
    for _ in range(count if sources else 0):
        synonym = draws.choose(lexicon.synonyms(draws.choose(sources)))
        inserted.insert(draws.index(len(inserted)), synonym)
    swapped = list(words)
    for _ in range(count if words else 0):
        first, second = draws.index(len(words)), draws.index(len(words))
        swapped[first], swapped[second] = swapped[second], swapped[first]
    deleted = [word for word in words if draws.uniform() > alpha]
    return {"replaced": replaced, "inserted": inserted, "swapped": swapped, "deleted": deleted or list(words[:1])}
