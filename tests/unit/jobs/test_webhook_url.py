"""Which URLs may be a webhook's, whatever way they are spelled, and which addresses are sent to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.jobs.domain.webhooks.webhook_address import is_public
from quire.jobs.domain.webhooks.webhook_errors import WebhookUrlError
from quire.jobs.domain.webhooks.webhook_url import WebhookUrl, parse_webhook_url

REFUSED_URLS = [
    "",
    "hooks.example.com",
    "//hooks.example.com/",
    "https://",
    "https:///path",
    "ftp://hooks.example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "http://hooks.example.com/",
    "https://user@hooks.example.com/",
    "https://user:word@hooks.example.com/",
    "https://hooks.example.com@127.0.0.1/",
    "https://hooks.example.com/#fragment",
    "https://hooks.example.com\\@127.0.0.1/",
    "https://hooks.example.com/a b",
    "https://hooks.example.com/\r\nX-Evil: 1",
    "https://hooks.example.com/\t",
    "https://hooks.example.com:0/",
    "https://hooks.example.com:22/",
    "https://hooks.example.com:25/",
    "https://hooks.example.com:65536/",
    "https://hooks.example.com:-1/",
    "https://hooks.example.com:4x3/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://0177.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://1.2.3.4.5/",
    "https://256.1.1.1/",
    "https://08.8.8.8/",
    "https://[fe80::1%25eth0]/",
    "https://[::1/",
    "https://[v1.x]/",
    "https://x[::1]/",
    "https://[8.8.8.8]x/",
    "https://hooks.example.com:/",
    "https://hooks.example.com::443/",
    "https://[::1]x/",
    "https://a..b/",
    "https://-a.example/",
    "https://①②⑦.0.0.1/",
    "https://bücher.example/",
    "https://exa%6dple.com/",
    "https://" + "a" * 64 + ".example/",
    "https://hooks.example.com/" + "a" * 2000,
]

CLOSED_ADDRESSES = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "not an address",
]


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_an_unusable_or_ambiguous_url_is_refused(url: str) -> None:
    with pytest.raises(WebhookUrlError):
        parse_webhook_url(url, allow_private=False)


@pytest.mark.parametrize("url", [url for url in REFUSED_URLS if not url.startswith("http://")])
def test_allowing_private_addresses_opens_no_odd_spelling(url: str) -> None:
    if url.endswith((":22/", ":25/")):
        assert parse_webhook_url(url, allow_private=True).port in (22, 25)
        return
    with pytest.raises(WebhookUrlError):
        parse_webhook_url(url, allow_private=True)


@pytest.mark.parametrize(
    ("url", "parts", "host_header"),
    [
        (
            "https://Hooks.Example.com",
            WebhookUrl("https", "hooks.example.com", 443, "/"),
            "hooks.example.com",
        ),
        (
            "https://hooks.example.com.:8443/a/b?c=d&e=%20",
            WebhookUrl("https", "hooks.example.com", 8443, "/a/b?c=d&e=%20"),
            "hooks.example.com:8443",
        ),
        ("https://8.8.8.8:443/x", WebhookUrl("https", "8.8.8.8", 443, "/x"), "8.8.8.8"),
        (
            "https://[2606:4700:0:0::1111]:2000/",
            WebhookUrl("https", "2606:4700::1111", 2000, "/"),
            "[2606:4700::1111]:2000",
        ),
        ("https://xn--bcher-kva.example/", WebhookUrl("https", "xn--bcher-kva.example", 443, "/"), None),
    ],
)
def test_a_good_url_is_taken_apart_once(url: str, parts: WebhookUrl, host_header: str | None) -> None:
    parsed = parse_webhook_url(url, allow_private=False)
    assert parsed == parts
    assert host_header is None or parsed.host_header == host_header


def test_plain_http_is_for_private_networks_only() -> None:
    assert parse_webhook_url("http://10.0.0.1/x", allow_private=True).port == 80


@given(st.text(max_size=60).map(lambda text: "https://" + text))
def test_any_text_is_a_url_or_a_typed_refusal(url: str) -> None:
    try:
        parsed = parse_webhook_url(url, allow_private=False)
    except WebhookUrlError:
        return
    assert parsed.host
    assert parsed.target.startswith("/")
    assert parsed.target.isascii()


@pytest.mark.parametrize("address", CLOSED_ADDRESSES)
def test_an_address_off_the_public_internet_is_closed(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700:4700::1111", "2a00::1"])
def test_a_public_address_is_open(address: str) -> None:
    assert is_public(address)
