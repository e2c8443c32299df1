"""Where a webhook may go: every spelling of a forbidden address is refused, and every name that leads to one."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.webhook_address import LONGEST, AddressRefusedError, is_public, read_address

FORBIDDEN_4 = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4"),
    *("240.0.0.0/4", "168.63.129.16/32", "192.88.99.0/24"),
]
FORBIDDEN_6 = [
    *("::/128", "::1/128", "fe80::/10", "fc00::/7", "fec0::/10", "ff00::/8", "100::/64", "2001:db8::/32", "2001::/32"),
    *("2002::/16", "64:ff9b::/96", "64:ff9b:1::/48", "3fff::/20", "5f00::/16", "fd00:ec2::254/128"),
]


def within(network: str) -> st.SearchStrategy[int]:
    block = ipaddress.ip_network(network)
    return st.integers(int(block.network_address), int(block.broadcast_address))


forbidden_4 = st.sampled_from(FORBIDDEN_4).flatmap(within).map(IPv4Address)
forbidden_6 = st.sampled_from(FORBIDDEN_6).flatmap(within).map(IPv6Address)
any_4 = st.integers(0, 2**32 - 1).map(IPv4Address)


def octets(address: IPv4Address) -> list[int]:
    return list(address.packed)


def spellings_of_4(address: IPv4Address) -> list[str]:
    """As inet_aton, WHATWG's parser and those who get round filters write an IPv4 address."""
    a, b, c, d = octets(address)
    number = int(address)
    return [
        str(address),
        f"{address}.",
        str(number),
        f"{number:#x}",
        f"{number:#o}".replace("0o", "0"),
        f"{a:#x}.{b:#x}.{c:#x}.{d:#x}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a:03d}.{b:03d}.{c:03d}.{d:03d}",
        f"{a}.{b}.{c * 256 + d}",
        f"{a}.{number & 0xFF_FFFF}",
        f"{a:#x}.{number & 0xFF_FFFF:#x}",
        "".join(f"%{ord(one):02x}" for one in str(address)),
        str(address).translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)}),  # fullwidth digits
        str(address).replace(".", "\u3002"),  # an ideographic full stop
        f"[{address}]",
        f"[::ffff:{address}]",
        f"[::{address}]",
        f"[64:ff9b::{address}]",
        f"[2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1]",
    ]


def spellings_of_6(address: IPv6Address) -> list[str]:
    return [
        f"[{address}]",
        f"[{address.exploded}]",
        f"[{address.exploded.upper()}]",
        f"[{address}%25eth0]",
        f"[{address}%eth0]",
        str(address),
        f"{address}.ipv6-literal.net%",
    ]


DECORATIONS = [
    "https://{}/hook",
    "https://{}:443/hook",
    "https://{}:8443/hook",
    "HTTPS://{}/hook",
    "https://user@{}/hook",
    "https://hooks.example.com@{}/hook",
    "https://{}\\@hooks.example.com/hook",
    "https://{}#@hooks.example.com/hook",
    "https:// {}/hook",
    "https://\t{}/hook",
    "https:/{}/hook",
    "https:{}/hook",
    "//{}/hook",
]


@given(forbidden_4 | any_4, st.data(), st.sampled_from(DECORATIONS))
def test_no_spelling_of_an_ipv4_address_is_taken_for_a_host(
    address: IPv4Address, data: st.DataObject, decoration: str
) -> None:
    spelling = data.draw(st.sampled_from(spellings_of_4(address)))
    with pytest.raises(AddressRefusedError):
        read_address(decoration.format(spelling))


@given(forbidden_6, st.data(), st.sampled_from(DECORATIONS))
def test_no_spelling_of_an_ipv6_address_is_taken_for_a_host(
    address: IPv6Address, data: st.DataObject, decoration: str
) -> None:
    spelling = data.draw(st.sampled_from(spellings_of_6(address)))
    with pytest.raises(AddressRefusedError):
        read_address(decoration.format(spelling))


@pytest.mark.parametrize(
    "name",
    [
        *("localhost", "LOCALHOST", "localhost.", "app.localhost", "localhost.localdomain.local", "printer.local"),
        *("metadata.google.internal", "instance-data.ec2.internal", "router.home.arpa", "hidden.onion", "intranet"),
        *("nowhere.invalid", "server.lan", "wiki.intranet", "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3"),
        *("hooks.example.com.", "hooks..example.com", "-hooks.example.com", "hooks_.example.com", "example.1com", ""),
        *("b\u00fccher.example", "hooks.example.c\u043em", "a" * 64 + ".example.com", ".".join(["abcdefgh"] * 32)),
    ],
)
def test_a_name_that_leads_inside_or_is_none_is_refused(name: str) -> None:
    with pytest.raises(AddressRefusedError):
        read_address(f"https://{name}/hook")


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("http://hooks.example.com/hook", "must begin with https://"),
        ("ftp://hooks.example.com/hook", "must begin with https://"),
        ("hooks.example.com/hook", "must begin with https://"),
        ("https://user:secret@hooks.example.com/hook", "must not hold a user name or password"),
        ("https://hooks.example.com:8080/hook", "must use port 443 or 8443"),
        ("https://hooks.example.com:0/hook", "must use port 443 or 8443"),
        ("https://hooks.example.com:/hook", "must name a host"),
        ("https://hooks.example.com:443:443/hook", "must name a host"),
        ("https://hooks.example.com/hook#part", "must not hold a #"),
        ("https://hooks.example.com/a b", "must be plain ASCII"),
        ("https://hooks.example.com/a\r\nHost: inside", "must be plain ASCII"),
        ("https://hooks.example.com\\.inside.example/hook", "must be plain ASCII"),
        ("https://127.0.0.1/hook", "no IP address"),
        ("https://hooks.localhost/hook", "must name a host of the public internet"),
        ("https://hooks.example.com/" + "a" * LONGEST, "must not be longer than 2048 characters"),
    ],
)
def test_a_refusal_names_the_field_and_the_way_out_and_not_the_address(text: str, way_out: str) -> None:
    with pytest.raises(AddressRefusedError) as refused:
        read_address(text)
    assert str(refused.value).startswith("webhook_url: ")
    assert way_out in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "inside" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "url", "port"),
    [
        ("https://hooks.example.com", "https://hooks.example.com/", 443),
        ("HTTPS://Hooks.Example.COM:443/Path", "https://hooks.example.com/Path", 443),
        ("https://hooks.example.com:8443?token=A%2Fb", "https://hooks.example.com:8443/?token=A%2Fb", 8443),
        ("https://xn--bcher-kva.example/in?a=1&b=@x", "https://xn--bcher-kva.example/in?a=1&b=@x", 443),
        ("https://a1.b-2.example.co.uk/x;y=(1)", "https://a1.b-2.example.co.uk/x;y=(1)", 443),
    ],
)
def test_a_public_host_is_kept_in_one_spelling(text: str, url: str, port: int) -> None:
    address = read_address(text)
    assert (address.url, address.port) == (url, port)
    assert read_address(address.url) == address


def test_what_lands_in_a_log_shows_the_host_and_not_the_path() -> None:
    assert "token" not in repr(read_address("https://hooks.example.com/token-4170"))


@given(st.text(max_size=80) | st.text(alphabet="https:/.@[]0123456789abcdefx%#\\?-", max_size=60))
def test_whatever_is_read_is_a_name_over_https(text: str) -> None:
    try:
        address = read_address(text)
    except AddressRefusedError:
        return
    with pytest.raises(ValueError, match="does not appear to be"):
        ipaddress.ip_address(address.host)
    assert address.host.rpartition(".")[2][0].isalpha()
    assert address.target.startswith("/")


# --- what names lead to ----------------------------------------------------------------------------------------------


@given(forbidden_4)
def test_a_name_that_leads_to_a_forbidden_ipv4_address_is_not_public(address: IPv4Address) -> None:
    assert not is_public(str(address))


@given(forbidden_6)
def test_a_name_that_leads_to_a_forbidden_ipv6_address_is_not_public(address: IPv6Address) -> None:
    assert not is_public(str(address))
    assert not is_public(address.exploded)
    assert not is_public(f"{address}%eth0")


@given(any_4)
def test_an_ipv4_address_inside_an_ipv6_one_is_never_public(address: IPv4Address) -> None:
    number = int(address)
    inside = [
        0xFFFF << 32 | number,  # mapped
        number,  # compatible
        0x64_FF9B << 96 | number,  # translated
        0x64_FF9B_0001 << 80 | number,
        0x2002 << 112 | number << 80 | 1,  # 6to4
        0x2001 << 112 | number << 64 | (0xFFFF_FFFF ^ number),  # Teredo, whose client is written inverted
        0x2A00_1450_4001_0830 << 64 | 0x0000_5EFE << 32 | number,  # ISATAP
        0x2A00_1450_4001_0830 << 64 | 0x0200_5EFE << 32 | number,
    ]
    assert not [one for one in inside if is_public(str(IPv6Address(one)))]


@given(any_4)
def test_what_is_public_is_what_python_calls_global_too(address: IPv4Address) -> None:
    assert not is_public(str(address)) or (address.is_global and not address.is_multicast)


@given(st.integers(0, 2**128 - 1).map(IPv6Address) | within("2000::/3").map(IPv6Address))
def test_an_ipv6_address_that_is_public_is_global_unicast(address: IPv6Address) -> None:
    if not is_public(str(address)):
        return
    assert address.is_global
    assert not address.is_multicast
    assert (address.ipv4_mapped, address.sixtofour, address.teredo) == (None, None, None)


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_a_public_address_may_be_called(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "text", ["", "hooks.example.com", "0x7f.1", "127.1", "2130706433", "::1%lo", "93.184.215.14/32"]
)
def test_what_is_no_address_is_not_public(text: str) -> None:
    assert not is_public(text)
