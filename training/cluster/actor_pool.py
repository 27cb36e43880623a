"""Players on the machines of a cluster: who joins, who leaves, who hangs. All of Ray's actors are here."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from training.cluster import probe
from training.cluster.actor import SelfPlayActor
from training.cluster.connection import Head
from training.cluster.scheduler import TASK_S
from training.cluster.version import Version, own_version
from training.settings.play import PlayConfig
from training.workers.interface import MAX_FAILURES

DEPTH = 2
"""Orders that a player has: one it works at and one that waits, so that it never does."""
_LOOK_S = 2.0  # between two looks at the machines
_PULSE_S = 5.0  # between two questions to a player that is late

ray.cloudpickle.register_pickle_by_value(probe)


@dataclass(slots=True, eq=False)
class _Member:
    """A player, and what it has been given: (order, reference to the answer)."""

    actor: Any
    node: str
    hello: Any
    pid: int = 0
    orders: deque[tuple[Any, Any]] = field(default_factory=deque)
    begun_s: float = 0.0
    pulse: Any = None
    asked_s: float = 0.0


@dataclass(slots=True)
class _Node:
    """A machine: its address, how many players it takes, the question to it, why it is refused."""

    address: str
    slots: int
    question: Any = None
    refused: str = ""
    failures: int = 0


class NoActorError(RuntimeError):
    """Nobody can play; the message says why."""


class ActorPool:
    """Starts actors where there are cores, gives them orders, and replaces those that are lost."""

    def __init__(self, play: PlayConfig, games: int, silence_s: float, report: Callable[[str], None]) -> None:
        """Begin without players; `look` hires them.

        Args:
            play, games: see `SelfPlayActor`.
            silence_s: seconds without a sign of life after which a player is replaced; 0: never.
            report: gets a line when a machine or a player comes or goes.
        """
        self._play, self._games, self._silence_s, self._report = play, games, silence_s, report
        self._class = ray.remote(num_cpus=1, max_restarts=0, concurrency_groups={"watch": 1})(SelfPlayActor)
        self._probe = ray.remote(num_cpus=0, max_retries=0)(probe.look)
        self._kill_process = ray.remote(num_cpus=0, max_retries=0)(probe.kill_process)
        self._nodes: dict[str, _Node] = {}
        self._members: list[_Member] = []
        self._next_look_s = 0.0
        self._ours: Version = own_version()
        self.head = Head()
        self.lost: list[Any] = []
        """Orders whose players are gone; a reader empties the list."""

    def __len__(self) -> int:
        return sum(member.pid != 0 for member in self._members)

    @property
    def machines(self) -> int:
        """Machines with players that work."""
        return len({member.node for member in self._members if member.pid})

    # --- machines

    def look(self) -> None:
        """Notice machines that came or went, players that came up or hang.

        Raises:
            NoActorError: no machine can play.
            HeadLostError: the cluster is no more.
        """
        now_s = time.monotonic()
        for member in list(self._members):
            self._watch(member, now_s)
        if now_s < self._next_look_s:
            return
        self._next_look_s = now_s + _LOOK_S
        if not self.head.answers():
            return
        alive = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
        for name in [name for name in self._nodes if name not in alive]:
            for member in [m for m in self._members if m.node == name]:
                self._drop(member)
            self._report(f"machine {self._nodes.pop(name).address} left")
        for name, about in alive.items():
            if name not in self._nodes:
                slots = int(about["Resources"].get("CPU", 0))
                node = self._nodes[name] = _Node(about["NodeManagerAddress"], slots)
                if slots:
                    node.question = self._probe.options(scheduling_strategy=_only(name)).remote()
        for name, node in self._nodes.items():
            if node.question is not None:
                self._hear(node)
            elif node.slots and not node.refused:
                have = sum(member.node == name for member in self._members)
                for _ in range(node.slots - have):
                    self._spawn(name)
        lending = [node for node in self._nodes.values() if node.slots]
        if lending and all(node.refused for node in lending):
            first = lending[0]
            raise NoActorError(f"no machine of the cluster can play; {first.address}: {first.refused}")

    def _hear(self, node: _Node) -> None:
        """Read what a machine says of itself, if it has."""
        done, _ = ray.wait([node.question], timeout=0)
        if not done:
            return
        try:
            kind, found = ray.get(node.question)
        except ray.exceptions.RayError as error:
            kind, found = "error", _first_line(error)
        node.question = None
        node.refused = self._ours.differs(found) if kind == "version" else str(found)
        if node.refused:
            self._report(f"machine {node.address} is refused: {node.refused}")
        else:
            self._report(f"machine {node.address} joins with {node.slots} players")

    def _spawn(self, name: str) -> None:
        actor = self._class.options(scheduling_strategy=_only(name)).remote(self._play, self._games)
        self._members.append(_Member(actor, name, actor.hello.remote()))

    # --- players

    def _watch(self, member: _Member, now_s: float) -> None:
        """Notice that a player has come up; ask one that is late whether it lives."""
        if not member.pid:
            if ray.wait([member.hello], timeout=0)[0]:
                try:
                    member.pid = ray.get(member.hello)
                except ray.exceptions.RayError as error:
                    self._fail(member, _first_line(error))
            return
        if not self._silence_s or not member.orders or now_s - member.begun_s < TASK_S + _PULSE_S:
            return
        if member.pulse is None:
            if now_s - member.asked_s >= _PULSE_S:
                member.pulse = member.actor.pulse.options(concurrency_group="watch").remote()
                member.asked_s = now_s
            return
        silent_s = now_s - member.asked_s
        if ray.wait([member.pulse], timeout=0)[0]:
            try:
                silent_s = ray.get(member.pulse)
            except ray.exceptions.RayError:
                return  # its order says the same
            member.pulse = None
        if silent_s > self._silence_s:
            where = self._nodes[member.node].address if member.node in self._nodes else "a machine that left"
            self._report(f"player on {where} said nothing for {silent_s:.0f} s: killed and replaced")
            self._drop(member, kill=True)

    def _fail(self, member: _Member, why: str) -> None:
        """Give up a player that failed, and its machine if that happens again and again."""
        self._drop(member)
        node = self._nodes.get(member.node)
        if node is None or node.refused:
            return
        node.failures += 1
        self._next_look_s = 0.0
        if node.failures >= MAX_FAILURES * max(1, node.slots):
            node.refused = f"its players failed {node.failures} times in a row: {why}"
            self._report(f"machine {node.address} is left alone: {node.refused}")
        else:
            self._report(f"player on {node.address} is lost ({why}); its orders are given again")

    def _drop(self, member: _Member, kill: bool = False) -> None:
        if member not in self._members:
            return
        self._members.remove(member)
        self.lost += [order for order, _ in member.orders]
        member.orders.clear()
        if kill:
            # A process that is stopped does not hear Ray.
            self._kill_process.options(scheduling_strategy=_only(member.node)).remote(member.pid)
        ray.kill(member.actor)
        self._next_look_s = 0.0

    # --- orders

    def free(self) -> Iterator[_Member]:
        """Yield players that can take an order, the idlest first."""
        for depth in range(DEPTH):
            for member in self._members:
                if member.pid and len(member.orders) == depth:
                    yield member

    def give(self, member: _Member, method: str, order: Any, *arguments: Any) -> None:
        """Give a player an order.

        Args:
            method: of `SelfPlayActor`.
            order: its first argument; it comes back with the answer, or in `lost`.
        """
        if not member.orders:
            member.begun_s = time.monotonic()
        member.orders.append((order, getattr(member.actor, method).remote(order, *arguments)))

    def answers(self, timeout_s: float) -> Iterator[tuple[Any, Any]]:
        """Yield (order, answer) of what has come; orders that failed are in `lost` then."""
        heads = {member.orders[0][1]: member for member in self._members if member.orders}
        if not heads:
            time.sleep(timeout_s)
            return
        ready, _ = ray.wait(list(heads), timeout=timeout_s)
        if ready:
            ready, _ = ray.wait(list(heads), num_returns=len(heads), timeout=0)
        for ref in ready:
            member = heads[ref]
            try:
                answer = ray.get(ref)
            except ray.exceptions.RayError as error:
                self._fail(member, _first_line(error))
                continue
            order, _ = member.orders.popleft()
            member.begun_s, member.pulse = time.monotonic(), None
            if member.node in self._nodes:
                self._nodes[member.node].failures = 0
            yield order, answer

    def drain(self) -> None:
        """Let all players answer at once."""
        for member in self._members:
            if member.pid:
                member.actor.drain.options(concurrency_group="watch").remote()

    def invalidate(self, generation: int) -> None:
        """Let all players answer orders for older nets at once."""
        for member in self._members:
            if member.orders:
                member.actor.invalidate.options(concurrency_group="watch").remote(generation)

    @property
    def busy(self) -> bool:
        """Whether orders are out."""
        return any(member.orders for member in self._members)

    def close(self) -> None:
        """End all players."""
        for member in self._members:
            ray.kill(member.actor)
        self._members.clear()


def _only(node: str) -> Any:
    return NodeAffinitySchedulingStrategy(node, soft=False)


def _first_line(error: BaseException) -> str:
    """Return the line of an error that says what happened; of a failed task that is the last one."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if isinstance(error, ray.exceptions.RayTaskError) else lines[0]
