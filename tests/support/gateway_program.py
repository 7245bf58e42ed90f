"""A gateway that does what each file asks of it: the first `%behave {json}` line of a PDF is its wish.

Run as a program. `answer`: status, xml (default), empty, malformed, unfinished, gzip, doctype, deep, long, hang, drop,
cut, huge. `vouched`: truly or wrongly. `times`: only the first so many calls of that file misbehave; `process`: only in
the process of that number.
GET /calls tells what came; PUT /health sets what /health answers.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CALLS: list[dict[str, Any]] = []
HEALTH = {"status": 200}
UNDER_WAY = {"calls": 0}
LOCK = threading.Lock()
XML = '<?xml version="1.0" encoding="UTF-8"?>\n<converted mapping="{mapping}" sha256="{sha256}"/>\n'
ODD_BODIES = {
    "empty": b"",
    "malformed": b"<a><b></a>",
    "unfinished": b"<a>" + b"x" * 200_000 + b"</",
    "gzip": gzip.compress(b"<a/>"),
    "doctype": b'<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>',
    "deep": b"<a>" * 1000 + b"</a>" * 1000,
    "long": b"<a>" + b"x" * 300_000 + b"</a>",
    "large": b"<a>" + b"x" * 200_000 + b"</a>",
}
# A block of the answer `huge`, and how many of them.
HUGE_BLOCK = b"<line>" + b"x" * 1011 + b"</line>"
HUGE_BLOCKS = 64 * 1024
# What a file wishes stands at its beginning.
WISH_BYTES = 4096


class Gateway(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        if self.path == "/calls":
            self.send(200, json.dumps(CALLS).encode(), "application/json")
        else:
            self.send(HEALTH["status"], b"{}", "application/json")

    def do_PUT(self) -> None:
        HEALTH["status"] = int(self.body())
        self.send(200, b"", "text/plain")

    def do_POST(self) -> None:
        body = self.body()
        mapping, pdf = fields(self.headers["Content-Type"], body)
        wish = wish_of(pdf)
        with LOCK:
            UNDER_WAY["calls"] += 1
            earlier = sum(call["sha256"] == hashlib.sha256(pdf).hexdigest() for call in CALLS)
            CALLS.append(
                {
                    "path": self.path,
                    "accept": self.headers["Accept"],
                    "mapping": mapping,
                    "sha256": hashlib.sha256(pdf).hexdigest(),
                    "at": time.time(),
                    "at_once": UNDER_WAY["calls"],
                    "name": self.headers.get("X-Name"),
                    "body_head": body[:400].decode(errors="replace"),
                }
            )
        if earlier >= wish.get("times", 1_000_000) or wish.get("process", os.getpid()) != os.getpid():
            wish = {}
        try:
            self.answer(wish, mapping, pdf)
        finally:
            with LOCK:
                UNDER_WAY["calls"] -= 1

    def answer(self, wish: dict[str, Any], mapping: str, pdf: bytes) -> None:
        time.sleep(wish.get("seconds", 0))
        kind = wish.get("answer", "xml")
        xml = XML.format(mapping=mapping, sha256=hashlib.sha256(pdf).hexdigest()).encode()
        if kind == "status":
            problem = {"error_code": "TEST_REFUSAL", "detail": "as the file wished"}
            self.send(
                wish["status"], json.dumps(problem).encode(), "application/problem+json", wish.get("headers")
            )
        elif kind == "hang":
            time.sleep(60)
        elif kind == "huge":
            self.send_huge()
        elif kind == "drop":
            self.close_connection = True
        elif kind == "cut":
            self.send_response(200)
            self.send_header("Content-Length", str(len(xml) + 100))
            self.end_headers()
            self.wfile.write(xml)
            self.close_connection = True
        else:
            body = ODD_BODIES.get(kind, xml)
            self.send(200, body, "application/xml", voucher_for(body, wish.get("vouched")))

    def send_huge(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(b"<a></a>") + HUGE_BLOCKS * len(HUGE_BLOCK)))
        self.end_headers()
        self.wfile.write(b"<a>")
        for _ in range(HUGE_BLOCKS // 256):
            self.wfile.write(HUGE_BLOCK * 256)
        self.wfile.write(b"</a>")

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def send(
        self, status: int, body: bytes, content_type: str, headers: dict[str, str] | None = None
    ) -> None:
        headers = {"Date": self.date_time_string(), **(headers or {})}
        self.send_response_only(status)
        self.send_header("Content-Type", content_type)
        body = b"" if status == 204 else body
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def voucher_for(body: bytes, vouched: str | None) -> dict[str, str]:
    """`vouched`: "truly" for these bytes, "wrongly" for others."""
    if vouched is None:
        return {}
    digest = hashlib.sha256(body if vouched == "truly" else b"other bytes").digest()
    return {"Quire-Checked": "ALTO 4.3", "Content-Digest": f"sha-256=:{base64.b64encode(digest).decode()}:"}


def fields(content_type: str, body: bytes) -> tuple[str, bytes]:
    boundary = content_type.partition("boundary=")[2].encode()
    parts = body.split(b"--" + boundary)
    mapping = parts[1].partition(b"\r\n\r\n")[2].removesuffix(b"\r\n").decode()
    return mapping, parts[2].partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")


def wish_of(pdf: bytes) -> dict[str, Any]:
    line = next(
        (line for line in pdf[:WISH_BYTES].splitlines() if line.startswith(b"%behave ")), b"%behave {}"
    )
    wish: dict[str, Any] = json.loads(line.removeprefix(b"%behave "))
    return wish


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[1])), Gateway)
    print("ready", flush=True)
    server.serve_forever()
