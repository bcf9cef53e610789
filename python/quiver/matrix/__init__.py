"""Block matrices: tables of the columns `i`, `j` and `block`, which numpy writes and reads. docs/kernels.md says what SQL does with them."""

from .reading import Matrix
from .writing import as_rows

__all__ = ["Matrix", "as_rows"]
