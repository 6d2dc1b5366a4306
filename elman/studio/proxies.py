"""Behind a proxy: restore the client's address, the scheme, the host name and the path.

Takes the request as it arrived and returns it as the client sent it. `X-Forwarded-For`, `-Proto`
and `-Host` count only if the connection comes from a trusted address, because anybody else could
forge them. The root path is removed if the proxy has not removed it, so both ways to configure a
proxy work.
"""

import ipaddress
import re
from collections.abc import Sequence

from starlette.types import Scope

from elman.errors import InputError

_ROOT = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Proxies:
    """The addresses and networks whose forwarded headers count."""

    def __init__(self, addresses: Sequence[str] = ()) -> None:
        self._networks = [_network(address) for address in addresses]

    def trust(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address.strip("[] "))
        except ValueError:
            return False
        mapped = getattr(found, "ipv4_mapped", None)  # of a socket for both versions
        return any((mapped or found) in network for network in self._networks)

    def as_sent(self, scope: Scope) -> Scope:
        """The request with the client's address and scheme, if a trusted proxy forwards them."""
        client = scope.get("client")
        if not client or not self.trust(client[0]):
            return scope
        scope = dict(scope)
        scheme = header(scope, b"x-forwarded-proto")
        if scheme in ("http", "https"):
            scope["scheme"] = scheme
        behind = _first_untrusted(self, header(scope, b"x-forwarded-for") or "")
        if behind:
            scope["client"] = (behind, 0)
        scope["forwarded_host"] = header(scope, b"x-forwarded-host")
        return scope


def _first_untrusted(proxies: Proxies, chain: str) -> str | None:
    """The nearest address that is not a trusted proxy; earlier addresses may be forged."""
    addresses = [part.strip() for part in chain.split(",") if part.strip()]
    for address in reversed(addresses):
        if not proxies.trust(address):
            try:
                return str(ipaddress.ip_address(address.strip("[]")))
            except ValueError:
                return None
    return addresses[0] if addresses else None


def header(scope: Scope, name: bytes) -> str | None:
    """The value of a header; several values are joined with commas, as HTTP specifies."""
    return ", ".join(headers(scope, name)) or None


def headers(scope: Scope, name: bytes) -> list[str]:
    """Every value of a header."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def clean_root_path(root_path: str) -> str:
    """A path such as `/elman`, without a slash at its end; empty for none."""
    path = root_path.rstrip("/")
    if path and not path.startswith("/"):
        path = f"/{path}"
    if not _ROOT.fullmatch(path):
        raise InputError(f"--root-path {root_path}: give a path such as /elman")
    return path


def under_root(scope: Scope, root_path: str) -> tuple[Scope, str]:
    """The request for an application under a root path, and its path below the root."""
    path = str(scope["path"])
    if root_path and (path == root_path or path.startswith(f"{root_path}/")):
        path = path[len(root_path) :]
    return {**scope, "root_path": root_path, "path": root_path + path}, path


def _network(address: str) -> _Network:
    try:
        return ipaddress.ip_network(address.strip("[]"))
    except ValueError:
        raise InputError(
            f"--trusted-proxy {address}: give an address or a network, such as 127.0.0.1 or "
            "10.0.0.0/8"
        ) from None
