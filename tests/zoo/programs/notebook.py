# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A Jupyter kernel, and a client that has it compute."""
import sys

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

manager = KernelManager()
manager._kernel_spec = KernelSpec(
    argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=300)
for _ in range(12):
    client.execute_interactive("import work; work.run(10)", timeout=300)
client.stop_channels()
manager.shutdown_kernel()
