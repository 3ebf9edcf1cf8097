"""Random decisions, one recorded number in [0, 1) at a time."""


class Draws:
    """Hands out the numbers of a tape in order; `used` counts them. A tape that is too short raises IndexError."""

    def __init__(self, tape):
        self.tape = list(tape)
        self.used = 0

    def uniform(self):
        """Return the next number of the tape."""
        value = self.tape[self.used]
        self.used += 1
        return value

    def index(self, size):
        """Return a whole number from 0 to size - 1; takes one number of the tape."""
        return int(self.uniform() * size)

    def choose(self, items):
        """Return one member of a non-empty list; takes one number of the tape."""
        return items[self.index(len(items))]

    def shuffled(self, items):
        """Return a shuffled copy of a list of n items; takes n numbers of the tape."""
        return [item for _, item in sorted(((self.uniform(), place), item) for place, item in enumerate(items))]
