# SPDX-License-Identifier: Apache-2.0
"""Commands that are run for what they cost."""
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
