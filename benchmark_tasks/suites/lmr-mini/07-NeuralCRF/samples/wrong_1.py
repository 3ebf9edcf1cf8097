def decode(emissions, parameters, scheme):
    """Forbids ill-formed transitions but forgets that sentences have a first and a last tag."""
    count = len(scheme)
    if len(emissions) == 0:
        return Decoding([], [], 0.0)
    allowed = np.array([[scheme.may_follow(i, j) for j in range(count)] for i in range(count)])
    transitions = np.where(allowed, parameters.transitions, -np.inf)
    best, pointers = emissions[0], []
    for scores in emissions[1:]:
        reached = best[:, None] + transitions
        pointers.append(reached.argmax(axis=0))
        best = reached.max(axis=0) + scores
    path = [int(best.argmax())]
    for pointer in reversed(pointers):
        path.append(int(pointer[path[-1]]))
    tags = [scheme.tags[tag] for tag in reversed(path)]
    return Decoding(tags, spans_of(tags), float(best.max()))
