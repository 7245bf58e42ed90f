"""`quire` under the restriction that the API's unit (RestrictNamespaces=yes) and Docker's default profile put on it: no
process of its tree may make or enter a namespace."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

from quire.entrypoints.cli import main
from quire.runtime.seccomp import (
    ALLOW,
    FILTER_MODE,
    FIRST_ARGUMENT,
    JUMP_EQUAL,
    JUMP_SET,
    LOAD,
    NUMBER,
    RETURN,
    SET_NO_NEW_PRIVS,
    SET_SECCOMP,
)

# unshare, setns; clone; clone3
CALLS = {"x86_64": ((272, 308), 56, 435), "aarch64": ((97, 268), 220, 435)}
NEW_NAMESPACES = 0x7E020000
REFUSE, UNKNOWN = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS


def forbid_namespaces() -> None:
    refused, clone, clone3 = CALLS[platform.machine()]
    code = [step(LOAD, NUMBER)]
    for number in refused:
        code += [step(JUMP_EQUAL, number, 0, 1), step(RETURN, REFUSE)]
    # Its flags lie in memory, where no filter can look: whoever is told that it does not exist uses clone.
    code += [step(JUMP_EQUAL, clone3, 0, 1), step(RETURN, UNKNOWN)]
    code += [step(JUMP_EQUAL, clone, 0, 3), step(LOAD, FIRST_ARGUMENT), step(JUMP_SET, NEW_NAMESPACES, 0, 1)]
    program = b"".join([*code, step(RETURN, REFUSE), step(RETURN, ALLOW)])
    space = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(space))
    prctl = ctypes.CDLL(None).prctl
    assert prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert prctl(SET_SECCOMP, FILTER_MODE, header, 0, 0) == 0


def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


if __name__ == "__main__":
    forbid_namespaces()
    # The restriction is real: also for root.
    assert os.system("unshare --net true 2>/dev/null") != 0
    main()
