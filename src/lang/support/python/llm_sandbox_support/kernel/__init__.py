# SPDX-License-Identifier: MIT
"""The kernel: channel to the host, the loop, and two engines that run cells."""
