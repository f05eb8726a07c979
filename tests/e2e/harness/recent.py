# SPDX-License-Identifier: Apache-2.0
"""What happened some seconds ago: jbpf status looks at the last minute, however long a test takes."""
import time

from harness.programs import Lacking

AGE, LOOKED_AT = 15, 60  # seconds


def some_seconds_ago():
    """Seconds since 1970."""
    return int(time.time()) - AGE


def demand_recent(begin):
    """Once status has looked, and before what it said is judged: on a busy host that may have been too late."""
    if time.time() - begin > LOOKED_AT:
        raise Lacking("what is stored is not of the last minute any more")
