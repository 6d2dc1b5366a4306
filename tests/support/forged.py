"""Forged Hosts, Origins and paths."""

NAMES = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil-localhost"]
NAMES += ["0.0.0.0", "127.0.0.2", "10.0.0.1", "[::2]", "localhost.", "127.1", "2130706433", ""]
PORTS = ["", ":80", ":8001", ":08000", ":8000 ", ":8000:8000", ":8000.evil.example", ":80008000"]
HOSTS = [f"{name}{port}" for name in NAMES for port in [":8000", *PORTS[:6]]]
HOSTS += [f"{name}{port}" for name in ("127.0.0.1", "localhost", "[::1]") for port in PORTS]
HOSTS += ["user@127.0.0.1:8000", "127.0.0.1:8000,evil.example", "127.0.0.1:8000/evil", "::1:8000"]
ORIGINS = [f"http://{host}" for host in HOSTS if host] + ["null", "file://", "https://localhost"]
ORIGINS += ["http://localhost:8000", "https://127.0.0.1:8000", "http://127.0.0.1:8000.evil", "*"]


def traversals() -> list[str]:
    """Paths that would lead to a file outside, if they were taken as paths."""
    ups = ["../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..\\", "..%5c", "%252e%252e%252f", "....//"]
    ups += ["..%c0%af", "..;/", ".%00./", "%2e%2e%5c", "..%ef%bc%8f"]
    targets = ["etc/passwd", "app.py", "../pyproject.toml", "words/config.json"]
    roots = ["/", "/static/", "/v1/runs/", "/v1/models/"]
    return [f"{root}{up * 4}{target}" for root in roots for up in ups for target in targets]
