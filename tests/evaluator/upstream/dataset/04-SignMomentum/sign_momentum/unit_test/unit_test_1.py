import unittest

import torch
from torch import nn

from sign_momentum import SignMomentum

import logging
from pathlib import Path

log_dir = Path(__file__).resolve().parent / "logs"
log_dir.mkdir(parents=True, exist_ok=True)
logging.basicConfig(
    filename=log_dir / "unit_test_1.log", filemode="w", level=logging.INFO, format="%(asctime)s - %(message)s"
)


class TestSignMomentum(unittest.TestCase):
    def train(self, lr, beta, steps):
        layer = nn.Linear(2, 1)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor([[0.5, -0.5]]))
            layer.bias.zero_()
        optimizer = SignMomentum(layer.parameters(), lr=lr, beta=beta)
        for target in ([3.0], [-3.0], [-3.0])[:steps]:
            optimizer.zero_grad()
            ((layer(torch.tensor([1.0, 2.0])) - torch.tensor(target)) ** 2).sum().backward()
            optimizer.step()
        return layer.weight.detach().tolist()[0]

    def check(self, name, found, expected):
        try:
            torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-4, atol=1e-5)
            logging.info(f"Test Passed: {name}")
        except AssertionError as error:
            logging.error(f"Test Failed: {name}: {error}")
            raise

    def test_first_step(self):
        self.check("one step", self.train(0.1, 0.9, 1), [0.6, -0.4])

    def test_three_steps(self):
        self.check("three steps", self.train(0.1, 0.9, 3), [0.6, -0.4])

    def test_without_memory(self):
        self.check("no memory", self.train(0.2, 0.0, 3), [0.3, -0.7])


if __name__ == "__main__":
    unittest.main()
