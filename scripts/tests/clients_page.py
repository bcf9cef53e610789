"""The code in docs/clients.md, which the tests of each language run."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
ADDRESS = "127.0.0.1:31337"


def code(language: str, address: str) -> list[str]:
    """Every block of a language that asks a server, asking the one at `address`."""
    found = [block.replace(ADDRESS, address) for block in blocks(language) if ADDRESS in block]
    if not found:
        raise AssertionError(f"{PAGE} has no {language} that asks {ADDRESS}")
    return found


def code_about_files(language: str) -> list[str]:
    """Every block of a language that asks no server: of files that `shell_of_files` has made."""
    return [block for block in blocks(language) if ADDRESS not in block]


def shell_of_files() -> str:
    (found,) = [block for block in blocks("sh") if "quiver --store mine" in block]
    return found


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
