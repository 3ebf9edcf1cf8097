import unittest

import torch
from models.gate import Gate

import logging
from pathlib import Path

log_dir = Path(__file__).resolve().parent / "logs"
log_dir.mkdir(parents=True, exist_ok=True)
logging.basicConfig(
    filename=log_dir / "unit_test_1.log", filemode="w", level=logging.INFO, format="%(asctime)s - %(message)s"
)


class TestGate(unittest.TestCase):
    def test_forward_and_backward(self):
        torch.manual_seed(0)
        gate = Gate(4)
        with torch.no_grad():
            gate.project.weight.copy_(torch.eye(4))
            gate.project.bias.zero_()
        left, right = torch.randn(3, 4), torch.randn(3, 4)
        share = torch.sigmoid(left)
        out = gate(left, right)
        out.sum().backward()
        self.assertTrue(torch.allclose(out, share * left + (1 - share) * right, atol=1e-5))
        self.assertIsNotNone(gate.project.weight.grad)
        logging.info("Test Passed: forward and backward")


if __name__ == "__main__":
    unittest.main()
