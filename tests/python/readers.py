"""What tests ask of the reader threads."""

import threading
import time


def no_reader_left() -> bool:
    """Whether all reader threads end within five seconds."""
    deadline = time.monotonic() + 5
    while any(t.name == "decluster-reader" for t in threading.enumerate()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
