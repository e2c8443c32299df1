"""Where a customer's webhook may go: to public hosts, by name, over https; never back inside.

Two questions, asked apart. What the address says is judged when it is imported, and again before each send: only a
plain host name passes, so no spelling of an IP address has to be understood. What the name leads to is judged before
each send, every answer of it, and the connection goes to one of the addresses that were judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

HTTPS: Final = 443
PORTS: Final = frozenset({HTTPS, 8443})
LONGEST: Final = 2048  # characters
LONGEST_HOST: Final = 253
_SCHEME: Final = "https://"
# Backslashes, quotes and brackets are read differently by different parsers; all of them can be percent-encoded.
_PLAIN: Final = re.compile(r"[!$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]#]*")
_PARTS: Final = re.compile(r"(?P<authority>[^/?#]*)(?P<target>[^#]*)(?P<fragment>#.*)?")
_AUTHORITY: Final = re.compile(r"(?P<host>[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# The last label begins with a letter, which no spelling of an IPv4 address does: not 127.1, not 0x7f.1, not 2130706433.
_NAME: Final = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?")
# Names that lead somewhere else on every machine, or into its own network (RFC 6761, RFC 6762, RFC 8375, ICANN's
# .internal). Their addresses would be refused too.
_INSIDE: Final = re.compile(r"(?:.+\.)?(?:localhost|local|internal|intranet|lan|home\.arpa|onion|invalid)")


class AddressRefusedError(ValueError):
    """A webhook address that nothing may be sent to; the text says what would be right and never repeats it."""

    def __init__(self, expected: str) -> None:
        super().__init__(f"webhook_url: {expected}")


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """An address in the parts that a request is made of. `repr` shows the host only: paths hold tokens."""

    host: str
    port: int
    target: str = field(repr=False)  # path and query

    @property
    def authority(self) -> str:
        """`hooks.example.com`, `hooks.example.com:8443`: what the Host header says."""
        return self.host if self.port == HTTPS else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The address in its one spelling."""
        return f"{_SCHEME}{self.authority}{self.target}"


def read_address(text: str) -> WebhookAddress:
    """Read an address that may be called as far as its text says. Raises AddressRefusedError."""
    if len(text) > LONGEST:
        raise AddressRefusedError(f"must not be longer than {LONGEST} characters")
    if not _PLAIN.fullmatch(text):
        raise AddressRefusedError("must be plain ASCII: a host like bücher.example as xn--..., the rest %-encoded")
    if not text.lower().startswith(_SCHEME):
        raise AddressRefusedError("must begin with https://")
    parts = _PARTS.fullmatch(text[len(_SCHEME) :])
    if parts is None or parts["fragment"]:
        raise AddressRefusedError("must not hold a #")
    if "@" in parts["authority"]:
        raise AddressRefusedError("must not hold a user name or password; the signature says who is calling")
    host, port = _host_and_port(parts["authority"])
    target: str = parts["target"]
    return WebhookAddress(host, port, target if target.startswith("/") else f"/{target}")


def _host_and_port(authority: str) -> tuple[str, int]:
    read = _AUTHORITY.fullmatch(authority)
    host = "" if read is None else read["host"].lower()
    if read is None or len(host) > LONGEST_HOST or not _NAME.fullmatch(host):
        raise AddressRefusedError("must name a host such as hooks.example.com: no IP address, and no dot at its end")
    if _INSIDE.fullmatch(host):
        raise AddressRefusedError("must name a host of the public internet")
    port = HTTPS if read["port"] is None else int(read["port"])
    if port not in PORTS:
        raise AddressRefusedError(f"must use port {' or '.join(str(one) for one in sorted(PORTS))}")
    return host, port


# --- what a name leads to --------------------------------------------------------------------------------------------

# A list of our own, because Python's `is_global` changed its mind between the releases that this runs on.
# https://www.iana.org/assignments/iana-ipv4-special-registry and -ipv6-special-registry
_NOT_PUBLIC_4: Final = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; a cloud's metadata service is in it
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's metadata service, at an address that looks public
        "169.254.0.0/16",  # link-local, and the metadata services of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# What is outside of it is loopback, link-local, private, multicast, reserved, or holds an IPv4 address: mapped
# (::ffff:0:0/96), compatible (::/96), translated (64:ff9b::/96 and 64:ff9b:1::/48).
_GLOBAL_UNICAST: Final = ip_network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    ip_network(network)
    for network in (
        "2001::/23",  # Teredo, which holds an IPv4 address, and other protocols
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which holds an IPv4 address
        "3fff::/20",  # documentation
    )
)
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})  # before an IPv4 address, in the last 64 bits (RFC 5214)


def is_public(address: str) -> bool:
    """Whether an IP address, as a resolver writes it, is one of the public internet's; False for anything else."""
    try:
        read = ip_address(address)
    except ValueError:
        return False
    if isinstance(read, IPv4Address):
        return not any(read in network for network in _NOT_PUBLIC_4)
    return _is_public_6(read)


def _is_public_6(address: IPv6Address) -> bool:
    if address.scope_id is not None or address not in _GLOBAL_UNICAST:
        return False
    holds_another = (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP
    return not holds_another and not any(address in network for network in _NOT_PUBLIC_6)
