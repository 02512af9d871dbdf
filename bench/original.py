# SPDX-License-Identifier: MIT
"""The original library at the other end of two pipes, for bench-original.

Usage: original.py BACKEND IMAGE, with a Python that has llm-sandbox of the package index and its extra for
the backend. Each word of stdin (open, run, output, close) is done once, and answered with its nanoseconds.
Without its set-up, which asks a package index for pip, a session of it is as fast as it can be.
"""
import sys
import time

from llm_sandbox import SandboxSession


class Original:
    def __init__(self, backend, image):
        self.options = {"backend": backend, "image": image, "lang": "python", "keep_template": True,
                        "skip_environment_setup": True, "runtime_configs": {"network_mode": "none"}}
        if backend == "podman":
            from podman import PodmanClient
            self.options["client"] = PodmanClient.from_env()

    def open(self):
        self.session = SandboxSession(**self.options)
        self.session.open()

    def run(self):
        assert self.session.run("print(1)").exit_code == 0

    def output(self):
        result = self.session.execute_command("head -c 20000000 /dev/zero")
        assert len(result.stdout) == 20000000

    def close(self):
        self.session.close()


def main():
    original = Original(*sys.argv[1:])
    answers, sys.stdout = sys.stdout, sys.stderr  # what it logs is no answer
    for word in sys.stdin:
        begin = time.perf_counter_ns()
        getattr(original, word.strip())()
        print(time.perf_counter_ns() - begin, file=answers, flush=True)


if __name__ == "__main__":
    main()
