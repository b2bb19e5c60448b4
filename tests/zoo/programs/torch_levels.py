# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A module of twelve levels, forward and backward, until it is killed. One thread: it is the stacks that count."""
import torch
from torch import nn


class Level(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.linear, self.norm = nn.Linear(64, 64), nn.LayerNorm(64)
        self.inner = Level(depth - 1) if depth > 1 else nn.Sequential(nn.Linear(64, 64), nn.GELU())

    def forward(self, x):
        return x + self.inner(self.norm(torch.relu(self.linear(x))))


torch.set_num_threads(1)
model, batch = Level(12), torch.randn(32, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
print("ready", flush=True)
while True:
    optimizer.zero_grad()
    model(batch).pow(2).mean().backward()
    optimizer.step()
