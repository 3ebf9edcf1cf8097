def decode(emissions, parameters, scheme):
    """Tables of reachable tags only, filled with plain loops; a later predecessor must be strictly better."""
    if len(emissions) == 0:
        return Decoding([], [], 0.0)
    table = []
    for position, row in enumerate(emissions):
        column = {}
        for tag in range(len(scheme)):
            if position == 0:
                if scheme.may_start(tag):
                    column[tag] = (parameters.start[tag] + row[tag], None)
                continue
            for before, (score, _) in sorted(table[-1].items()):
                if not scheme.may_follow(before, tag):
                    continue
                reached = score + parameters.transitions[before, tag] + row[tag]
                if tag not in column or reached > column[tag][0]:
                    column[tag] = (reached, before)
        table.append(column)
    totals = {tag: score + parameters.end[tag] for tag, (score, _) in table[-1].items() if scheme.may_end(tag)}
    tag = min(totals, key=lambda index: (-totals[index], index))
    score, path = float(totals[tag]), []
    for column in reversed(table):
        path.insert(0, tag)
        tag = column[tag][1]
    names = [scheme.tags[index] for index in path]
    return Decoding(names, spans_of(names), score)
