"""Workers of matches and fits: none outlives the program that began it."""

import os
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future

import psutil

from arena.pool import as_done, executor
from tests.helpers.paths import HELPERS, ROOT

PROGRAM = """
import os, time
from arena.pool import executor

if __name__ == "__main__":
    with executor(2, processes=True) as pool:
        print(*[future.result() for future in [pool.submit(os.getpid) for _ in range(8)]], flush=True)
        pool.submit(time.sleep, 600)
        time.sleep(600)
"""


def ended(pid: int) -> bool:
    """Whether a process is gone, or waits only to be buried."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_workers_end_with_a_program_that_was_killed(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    command = [sys.executable, str(file)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert program.stdout is not None
    workers = {int(pid) for pid in program.stdout.readline().split()}
    assert workers and not any(ended(pid) for pid in workers)
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()
    deadline = time.monotonic() + 30
    while not all(ended(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [pid for pid in workers if not ended(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


SLEEPS = """
import time
from arena.pool import as_done, executor

if __name__ == "__main__":
    with executor(2, processes=True) as pool:
        for _ in as_done(pool, 2, time.sleep, ((seconds,) for seconds in [0.01] * 4 + [6.0] * 20)):
            print("done", flush=True)
"""


def test_a_stop_begins_none_of_the_tasks_that_were_handed_out(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(SLEEPS)
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    command = [sys.executable, str(file)]
    program = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    assert program.stdout is not None
    for _ in range(4):
        assert program.stdout.readline() == "done\n"
    time.sleep(0.5)  # two tasks run, others wait in the queue of the workers
    program.send_signal(signal.SIGINT)
    start_s = time.monotonic()
    program.communicate(timeout=60)
    assert time.monotonic() - start_s < 5


def test_a_stop_waits_for_no_brain(tmp_path):
    """Both brains think for a minute; their game is neither counted nor saved."""
    brain = shlex.join([sys.executable, str(HELPERS / "dumb_brain.py"), "hang"])
    command = [sys.executable, "-m", "arena.match", "--a", brain, "--b", brain, "--turn-ms", "90000"]
    command += ["--games", "4", "--concurrency", "2", "--no-lock", "--save", str(tmp_path / "games")]
    command += ["--json", str(tmp_path / "m.json")]
    program = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    log = tmp_path / "games" / "00000-0.log"
    deadline = time.monotonic() + 30
    while not (log.exists() and psutil.Process(program.pid).children()) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)  # at their third move they hang
    brains = psutil.Process(program.pid).children(recursive=True)
    program.send_signal(signal.SIGINT)
    start_s = time.monotonic()
    _, said = program.communicate(timeout=60)
    assert time.monotonic() - start_s < 5
    assert brains and not any(brain.is_running() for brain in brains)
    assert program.returncode == 1 and "the same command continues" in said
    assert not list((tmp_path / "games").glob("*.psq"))
    assert len((tmp_path / "m.games.jsonl").read_text().splitlines()) == 1, "only the settings"


def test_results_come_whether_threads_or_processes():
    for processes in (False, True):
        with executor(2, processes=processes) as pool:
            assert sorted(as_done(pool, 2, divmod, ((9, n) for n in (2, 3, 4)))) == [(2, 1), (3, 0), (4, 1)]


class Elsewhere(Executor):
    """Runs tasks at once and keeps them, as an executor that sends them to other machines reads them."""

    def __init__(self):
        self.seen = []

    def submit(self, fn, /, *args, **kwargs):
        self.seen.append((fn, args, kwargs))
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_workers_elsewhere_get_the_task_itself():
    pool = Elsewhere()
    assert sorted(as_done(pool, 2, divmod, ((9, n) for n in (2, 3)))) == [(3, 0), (4, 1)]
    assert pool.seen == [(divmod, (9, 2), {}), (divmod, (9, 3), {})]
