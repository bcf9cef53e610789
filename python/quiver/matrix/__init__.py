"""Block matrices: tables with the columns `i`, `j` and `block`, written and read as numpy arrays. docs/kernels.md describes them in SQL."""

from .reading import Matrix
from .writing import as_rows

__all__ = ["Matrix", "as_rows"]
