"""The code in docs/clients.md, which the tests of each language run."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
ADDRESS = "127.0.0.1:31337"


def code(language: str, address: str) -> list[str]:
    """Every block of a language, asking the server at `address`."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    if not blocks or any(ADDRESS not in block for block in blocks):
        raise AssertionError(f"{PAGE} has no {language} that asks {ADDRESS}")
    return [block.replace(ADDRESS, address) for block in blocks]
