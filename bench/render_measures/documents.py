"""Documents a second, POST to download, beside loops that only print; in turn, round after round."""

from __future__ import annotations

import asyncio
import statistics
from collections import defaultdict
from contextlib import ExitStack

from bench.render_field import Field
from bench.render_peer import Peer, PeerProcess, running
from bench.report import Row

MEASURE = "documents/s, POST to download"
PLAIN_MEASURE = "documents/s without the e-invoice, as the peers print"
OURS = "quire"
OURS_PLAIN = "quire, no e-invoice"


async def rows(field: Field) -> list[Row]:
    rates = await _rates(field)
    sample, plain = (statistics.median(rates[name]) for name in (OURS, OURS_PLAIN))
    print({name: [round(rate, 2) for rate in found] for name, found in rates.items()}, flush=True)
    medians = {peer.name: statistics.median(rates[peer.name]) for peer in field.peers}
    note = f"{field.concurrency} at once"
    as_shipped = [
        Row(MEASURE, sample, peer.name, medians[peer.name], peer.bar, note=note) for peer in field.peers
    ]
    same_work = [
        Row(PLAIN_MEASURE, plain, peer.name, medians[peer.name], note="no bar: the same work as the peer's")
        for peer in field.peers
        if not peer.is_slow
    ]
    return as_shipped + same_work


async def _rates(field: Field) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = defaultdict(list)
    with ExitStack() as stack:
        processes = {
            peer: stack.enter_context(running(peer, field.directory, field.concurrency))
            for peer in field.peers
        }
        for process in processes.values():
            await asyncio.to_thread(process.await_ready)
        await field.rate(field.lanes)
        for _ in range(field.scale.rounds):
            await _round(field, processes, rates)
    return rates


async def _round(field: Field, processes: dict[Peer, PeerProcess], rates: dict[str, list[float]]) -> None:
    rates[OURS].append(await field.rate(field.scale.documents))
    for peer, process in processes.items():
        count = field.scale.slow_documents if peer.is_slow else field.scale.documents
        rates[peer.name].append(await asyncio.to_thread(process.rate, count))
    rates[OURS_PLAIN].append(await field.rate(field.scale.documents, e_invoice=False))
