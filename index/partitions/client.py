"""Calls partitions, wherever they are, and supplies the term frequencies over all of them.

A search goes on without partitions that are lost, and reports them (`webemu.emulator.missing_parts`). Whatever has one
right answer (a URL, a list, the text of a page) is refused instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple, Protocol

from webemu.emulator.errors import SnapshotError
from webemu.emulator.missing_parts import lost_parts_error, report_missing_parts
from webemu.index.partitions.engine import TermKey
from webemu.index.partitions.methods import FREQUENCIES, Answer, GroupAnswer, Method, PartitionCall

MAX_CACHED_TERMS = 1 << 18
"""Terms whose frequencies are cached."""
MAX_ROUNDS = 50
"""Times that partitions may ask for more frequencies during one call: each round makes the next possible."""


class PartitionTransport(Protocol):
    """Port: sends calls to the processes that have the partitions."""

    def groups(self, count: int) -> list[Sequence[int]]:
        """Return the numbers of `count` partitions, those of each process together."""

    def ask(self, groups: Sequence[Sequence[int]], call: PartitionCall) -> list[GroupAnswer]:
        """Return what each group answers (`webemu.index.partitions.group.PartitionGroup`), in order.

        All partitions of a group that does not answer are lost. Raises EmulatorError as a partition raised it.
        """


class _Reply(NamedTuple):
    """The answers to one call."""

    values: list[Any]
    """Answers of the groups that are there, in order."""
    lost: set[int]
    """Partitions that were asked in vain."""
    uncounted: set[int]
    """Partitions whose terms could not be counted, so that the answers rank by the frequencies of the others."""

    def by_partition(self) -> dict[int, Any]:
        """Return the answers of all groups by partition, in the order of the partitions."""
        answers = {number: answer for value in self.values for number, answer in value.items()}
        return {number: answers[number] for number in sorted(answers)}


class PartitionClient:
    """Calls the partitions of one set. Thread-safe."""

    def __init__(self, transport: PartitionTransport, set_id: str, count: int, is_strict: bool = False) -> None:
        """Take the id and the number of the partitions; if `is_strict`, searches too are refused if one is lost."""
        self._transport = transport
        self._set_id = set_id
        self._is_strict = is_strict
        self._frequency_cache: dict[TermKey, int] = {}
        self.count = count
        self.groups = transport.groups(count)

    def search_all(self, method: Method[Answer], *arguments: object) -> list[Answer]:
        """Return the answer of each group that has one. Partitions that are lost are reported.

        Raises:
            Overloaded: a partition is lost, and the client is strict or nobody collects the reports.
        """
        reply = self._call(self.groups, method, arguments)
        self._report(reply.lost | reply.uncounted)
        return reply.values

    def search_each(self, method: Method[Answer], *arguments: object) -> dict[int, Answer]:
        """Return the answers of partitions by number, except empty ones; reports and raises as `search_all`."""
        reply = self._call(self.groups, method, arguments)
        self._report(reply.lost | reply.uncounted)
        return reply.by_partition()

    def call_each(self, method: Method[Answer], *arguments: object) -> dict[int, Answer]:
        """Return the answers of partitions by number, except empty ones. Raises Overloaded if any is lost."""
        return self._call_whole(self.groups, method, arguments).by_partition()

    def call_some(self, partitions: Sequence[int], method: Method[Answer], *arguments: object) -> dict[int, Answer]:
        """Return the answers of these partitions. Raises Overloaded if one is lost."""
        return self._call_whole([[number] for number in partitions], method, arguments).by_partition()

    def call_group(self, group: Sequence[int], method: Method[Answer], *arguments: object) -> Answer:
        """Return the one answer of a group. Raises Overloaded if a partition is lost."""
        answer: Answer = self._call_whole([group], method, arguments).values[0]
        return answer

    def call_one(self, partition: int, method: Method[Answer], *arguments: object) -> Answer:
        """Return the answer of one partition. Raises Overloaded if it is lost."""
        return self.call_some([partition], method, *arguments)[partition]

    def call_first(self, method: Method[Answer], *arguments: object) -> Answer:
        """Return what the first partition answers. If it is lost, it is reported, and the next one is asked.

        Raises:
            Overloaded: all are lost, or as `search_all`.
        """
        # The next one is in another process: a process is more likely to be lost than a disk.
        for partition in chain(*zip_longest(*self.groups)):
            if partition is None:
                continue
            reply = self._call([[partition]], method, arguments)
            self._report(reply.lost | reply.uncounted)
            if not reply.lost:
                answer: Answer = reply.by_partition()[partition]
                return answer
        raise lost_parts_error(range(self.count))

    def _call_whole(
        self, groups: Sequence[Sequence[int]], method: Method[Any], arguments: tuple[object, ...]
    ) -> _Reply:
        """Return the answers of groups. Raises Overloaded if a partition of theirs is lost."""
        reply = self._call(groups, method, arguments)
        if reply.lost:
            raise lost_parts_error(reply.lost)
        self._report(reply.uncounted)
        return reply

    def _report(self, lost: set[int]) -> None:
        """Report lost partitions. Raises Overloaded if the client is strict, or if there are no others."""
        if lost and (self._is_strict or len(lost) == self.count):
            raise lost_parts_error(lost)
        report_missing_parts(lost)

    def _call(self, groups: Sequence[Sequence[int]], method: Method[Any], arguments: tuple[object, ...]) -> _Reply:
        """Call groups again with the frequencies they miss, until all have answered or are lost.

        Raises SnapshotError after `MAX_ROUNDS`.
        """
        # What the frequencies of one round reveal (other readings, other words) may need further ones in the next.
        frequencies: dict[TermKey, int] = {}
        uncounted: set[int] = set()
        answered: dict[int, GroupAnswer] = {}
        waiting = list(range(len(groups)))
        for _ in range(MAX_ROUNDS):
            call = PartitionCall(self._set_id, method.name, arguments, frequencies, not uncounted)
            answered |= zip(waiting, self._transport.ask([groups[place] for place in waiting], call), strict=True)
            missing_terms = {place: answered[place].missing_terms for place in waiting}
            waiting = [place for place in waiting if missing_terms[place]]
            if not waiting:
                values = [answered[place].value for place in range(len(groups))]
                lost = {number for answer in answered.values() for number in answer.lost}
                return _Reply([value for value in values if value is not None], lost, uncounted)
            more, lost_in_count = self._global_frequencies(set(chain.from_iterable(missing_terms.values())))
            frequencies |= more
            uncounted |= lost_in_count
        raise SnapshotError(
            f"partitions still miss term frequencies after {MAX_ROUNDS} rounds of {method.name!r}",
            action="rebuild them: webemu snapshots split COUNT",
        )

    def _global_frequencies(self, terms: set[TermKey]) -> tuple[Mapping[TermKey, int], set[int]]:
        """Return the number of pages of all partitions that have each term, and the partitions that were not counted.

        Only complete counts are cached.
        """
        cached = {key: self._frequency_cache[key] for key in terms if key in self._frequency_cache}
        unknown_terms = sorted(terms - cached.keys())
        if not unknown_terms:
            return cached, set()
        call = PartitionCall(self._set_id, FREQUENCIES.name, (unknown_terms,), {})
        answers = self._transport.ask(self.groups, call)
        counts = [answer.value for answer in answers if answer.value is not None]
        lost = {number for answer in answers for number in answer.lost}
        totals = map(sum, zip(*counts, strict=True)) if counts else [0] * len(unknown_terms)
        counted = dict(zip(unknown_terms, totals, strict=True))
        if not lost:
            if len(self._frequency_cache) > MAX_CACHED_TERMS:
                self._frequency_cache = {}
            self._frequency_cache |= counted
        return cached | counted, lost
