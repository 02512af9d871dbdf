# SPDX-License-Identifier: MIT
"""What LLM Sandbox adds to a Python program inside: artifacts, and the kernels."""
