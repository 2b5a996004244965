"""Work in a fork of the test process, which may be killed; whatever happens, the fork ends there."""

import os
import traceback
from collections.abc import Callable


def end_of_fork(work: Callable[[], object]) -> int:
    """Work in a fork; return 0, 1 after an error, or the negative number of the signal that killed it."""
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:  # else it would go on with the tests beside this process
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
