# SPDX-License-Identifier: MIT
"""HTTP over a Unix socket, as engines speak it, and how a Podman of a test is set up."""
import http.client
import socket

# Its own number of open files is more than many machines allow.
CONTAINERS_CONF = ('[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]\n'
                   '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n')


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("engine", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
