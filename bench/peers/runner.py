"""One engine in one process, driven by JSON lines: `bench.peers.runner MODULE produce|work OPTIONS`."""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import threading
import time
from typing import Any

from bench.peers.contract import Engine
from bench.peers.tally import Tally

Reply = dict[str, Any]


def main() -> None:
    module, role, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    # Logging costs every engine time and none of them is measured with it.
    logging.disable(logging.CRITICAL)
    replies = claim_stdout()
    engine: Engine = importlib.import_module(module).open_engine(options)
    if role == "produce":
        serve(lambda request: produce(engine, request), replies)
        return
    tally = Tally()
    threading.Thread(
        target=serve, args=(lambda request: observe(tally, request), replies), daemon=True
    ).start()
    engine.work(tally)


def claim_stdout() -> Any:
    """Keeps the reply channel to ourselves: what an engine prints goes to stderr."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return replies


def serve(answer: Any, replies: Any) -> None:
    replies.write(json.dumps({"ready": True}) + "\n")
    for line in sys.stdin:
        replies.write(json.dumps(answer(json.loads(line))) + "\n")
    os._exit(0)


def produce(engine: Engine, request: Reply) -> Reply:
    numbers = range(request.get("start", 0), request.get("start", 0) + request.get("count", 0))
    match request["do"]:
        case "reset":
            engine.reset()
            return {}
        case "sequential":
            return {"seconds": engine.sequential(numbers)}
        case "concurrent":
            return {"seconds": engine.concurrent(numbers, request["callers"])}
        case "batches":
            return {"seconds": engine.batches(numbers)}
        case "paced":
            return {"seconds": engine.paced(numbers, request["pause"])}
        case "await_finished":
            return await_finished(engine, request["timeout"])
        case unknown:
            raise ValueError(unknown)


def await_finished(engine: Engine, timeout_seconds: float) -> Reply:
    """The moment the store itself holds nothing unfinished; None where the engine's store cannot say."""
    deadline = time.monotonic() + timeout_seconds
    while (unfinished := engine.unfinished()) and time.monotonic() < deadline:
        time.sleep(0.002)
    return {"at": None if unfinished is None else time.monotonic(), "unfinished": unfinished}


def observe(tally: Tally, request: Reply) -> Reply:
    match request["do"]:
        case "await":
            return dict(tally.await_count(request["count"], request["timeout"]))
        case "waits":
            return {"waits": tally.waits, "numbers": tally.numbers}
        case "forget":
            tally.forget()
            return {}
        case unknown:
            raise ValueError(unknown)


if __name__ == "__main__":
    main()
