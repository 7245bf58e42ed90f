"""Which addresses Quire sends webhooks to: those of the public internet. The list is our own, since what Python's
`is_global` says changed between its releases."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address

# IANA's special-purpose registry: this network, private, shared (CGNAT and a cloud's metadata), loopback,
# link-local (the other metadata), protocol assignments, documentation, relays, benchmarks, multicast, reserved.
CLOSED_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            # Azure's host agent answers on a public address from inside its machines.
            "168.63.129.16/32",
        ),
    )
)
# Only this block is public unicast; loopback, mapped and translated IPv4, private and link-local are outside it.
OPEN_V6 = IPv6Network("2000::/3")
# Inside it: protocol assignments with Teredo, documentation, and 6to4, which carries any IPv4 address.
CLOSED_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))


def is_public(address: str) -> bool:
    """False for what is not an address at all."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in CLOSED_V4)
    return parsed in OPEN_V6 and not any(parsed in network for network in CLOSED_V6)
