def rotate_(self, queries, keys, positions):
    """Multiplication of complex numbers: one channel pair is one number."""
    size = self.config.rotary_size
    turn = np.exp(1j * self.angles(positions))[:, None]
    for array in (queries, keys):
        turned = (array[..., 0:size:2] + 1j * array[..., 1:size:2].astype(np.float64)) * turn
        array[..., 0:size:2] = turned.real
        array[..., 1:size:2] = turned.imag
