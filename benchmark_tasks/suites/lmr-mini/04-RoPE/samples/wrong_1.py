def rotate_(self, queries, keys, positions):
    """Overwrites the even channels before the odd ones have used them."""
    size = self.config.rotary_size
    angles = self.angles(positions)[:, None]
    for array in (queries, keys):
        even, odd = array[..., 0:size:2], array[..., 1:size:2]
        array[..., 0:size:2] = even * np.cos(angles) - odd * np.sin(angles)
        array[..., 1:size:2] = even * np.sin(angles) + odd * np.cos(angles)
