# SPDX-License-Identifier: MIT
"""The kernel: a Python that keeps its state and runs cells that come over descriptor 3.

    python3 kernel.py        LLM_SANDBOX_KERNEL=plain|ipython overrides the choice between the two
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [HERE] + [folder for folder in sys.path if folder != HERE]

from llm_sandbox_support.kernel import loop  # noqa: E402

sys.path.remove(HERE)
loop.main()
