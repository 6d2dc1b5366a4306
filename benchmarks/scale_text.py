"""Make a large text for the measurements of counting, from the documentation in Debian packages.

    apt-get download linux-doc-6.1 openjdk-17-doc python3.11-doc …
    python benchmarks/scale_text.py PACKAGES --out text.txt --millions 105

PACKAGES is a folder of .deb files. HTML, plain text, reStructuredText and manual pages are read,
without markup; words and marks are separated by spaces; every line is kept once, and lines of fewer
than three words are left out. Packages are read in the order of their names. The text is for
measuring only: nothing of it is in the repository.
"""

import argparse
import gzip
import html
import re
import subprocess
import tarfile
import zlib
from collections.abc import Iterator
from hashlib import blake2b
from multiprocessing import Pool
from pathlib import Path

_HTML = (".html", ".htm", ".xhtml")
_PLAIN = (".txt", ".rst", ".text", ".md")
_MANUAL = re.compile(r"/man/man\d/[^/]+\.\d\w*$")
_LISTING = ("_source.html", "/_sources/", "/_modules/", "searchindex")  # programs, not prose
_UNSEEN = re.compile(r"<(script|style|head|svg)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_BLOCK = re.compile(r"</?(?:p|div|li|td|th|tr|h\d|br|dd|dt|pre|table|ul|ol|section)\b[^>]*>", re.I)
_TAG = re.compile(r"<[^>]*>")
_REQUEST = re.compile(r"^[.'].*$|\\f[A-Z]|\\[&|^]", re.MULTILINE)
_TOKEN = re.compile(r"\w+|[^\w\s]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--millions", type=float, default=105)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    packages = sorted(given.packages.glob("*.deb"))
    seen: set[bytes] = set()
    tokens = 0
    with given.out.open("w", encoding="utf-8") as out, Pool(given.processes) as pool:
        for name, text in pool.imap(lines_of, packages):
            before = tokens
            for line in zlib.decompress(text).decode().splitlines():
                key = blake2b(line.encode(), digest_size=8).digest()
                if key not in seen:
                    seen.add(key)
                    out.write(line + "\n")
                    tokens += line.count(" ") + 2
            print(f"{name}: {tokens - before:,} tokens, {tokens:,} in all", flush=True)
            if tokens >= given.millions * 1e6:
                break


def lines_of(package: Path) -> tuple[str, bytes]:
    """The distinct lines of a package, compressed for the way between processes."""
    found: dict[str, None] = {}
    for text in texts(package):
        for line in text.splitlines():
            tokens = _TOKEN.findall(line)
            if sum(token[0].isalpha() for token in tokens) >= 3:
                found[" ".join(tokens)] = None
    return package.name.split("_")[0], zlib.compress("\n".join(found).encode(), 1)


def texts(package: Path) -> Iterator[str]:
    """The documents of a package, without markup."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as unpacked,
        tarfile.open(fileobj=unpacked.stdout, mode="r|") as archive,
    ):
        for member in archive:
            name = member.name.removesuffix(".gz")
            kind = next((kind for kind in (_HTML, _PLAIN) if name.endswith(kind)), None)
            is_manual = _MANUAL.search(name)
            if not member.isfile() or not (kind or is_manual) or any(x in name for x in _LISTING):
                continue
            content = archive.extractfile(member).read()  # type: ignore[union-attr]
            if member.name.endswith(".gz"):
                content = gzip.decompress(content)
            text = content.decode("utf-8", "replace")
            if kind is _HTML:
                text = html.unescape(_TAG.sub("", _BLOCK.sub("\n", _UNSEEN.sub(" ", text))))
            yield _REQUEST.sub("", text) if is_manual else text


if __name__ == "__main__":
    main()
