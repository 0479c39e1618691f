"""Runs programs to their end for `common.py` and says what each used up.

A process of its own because the kernel charges a new program with the peak memory of whoever started it:
this one stays small, so that the peak of a small program can be seen. Reads and writes lines of JSON.
"""

import json
import os
import signal
import sys


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(ran(**json.loads(line))) + "\n")
        sys.stdout.flush()


def ran(command: list, cwd: str, env: dict, timeout_s: float, out: str, err: str) -> dict:
    os.chdir(cwd)
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, out, writing, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, err, writing, 0o600),
    ]
    child = os.posix_spawnp(command[0], command, env, file_actions=actions)
    late = False

    def end(*_) -> None:
        nonlocal late
        late = True
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    _, status, used = os.wait4(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    cpu_s = used.ru_utime + used.ru_stime
    return {"code": os.waitstatus_to_exitcode(status), "late": late, "cpu_s": cpu_s, "peak_kb": used.ru_maxrss}


if __name__ == "__main__":
    main()
