"""A worker to be killed: says which processes it has, then prints a document that never ends."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from quire.render.infrastructure.chromium import ChromiumOptions, ChromiumPrinter
from quire.render.ports.v1.page_printer import PrintRequest


async def main(directory: Path, html: str) -> None:
    printer = ChromiumPrinter(ChromiumOptions(directory=directory))
    printed = await printer.print_pdf(PrintRequest(html))
    session = printer.browsers[0].session
    sys.stdout.buffer.write(b"%d %d %d\n" % (session.leader, session.driver(), len(printed.data)))
    sys.stdout.buffer.write(printed.data)
    sys.stdout.buffer.flush()
    await printer.print_pdf(PrintRequest("<script>while (true);</script>", javascript=True))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
