"""BIOES tags: Begin, Inside and End of an entity, a Single-token entity, and Outside."""


class TagScheme:
    """All tags of some entity types: index 0 is "O", then B-, I-, E-, S- of each type in turn."""

    def __init__(self, types):
        self.tags = ["O"] + [f"{part}-{kind}" for kind in types for part in "BIES"]

    def __len__(self):
        return len(self.tags)

    def may_start(self, tag):
        """Whether a sentence may begin with the tag of this index."""
        return self.tags[tag][0] in "OBS"

    def may_end(self, tag):
        """Whether a sentence may end with the tag of this index."""
        return self.tags[tag][0] in "OES"

    def may_follow(self, before, after):
        """Whether the tag `after` may directly follow the tag `before` (indices)."""
        left, right = self.tags[before], self.tags[after]
        if left[0] in "BI":
            return right[0] in "IE" and left[2:] == right[2:]
        return right[0] in "OBS"
