# SPDX-License-Identifier: Apache-2.0
"""Commands that are run for what they cost."""
import json
import resource
import subprocess


class NotMeasured(Exception):
    """A program that is needed for a part did not do what it was started for."""


def run_cpu(command, **options):
    """Runs a command; CPU seconds it used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Asked:
    """A program that answers each line with one of JSON, on what was since the last; use it as a context."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
