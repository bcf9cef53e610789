"""`make bench-kernels ARGS=--errors`: the errors of the kernels and of numpy, relative to extended precision.

References are of `numpy.longdouble`, which has 64 bits of fraction on x86-64: 2048 times as fine as a double. An error is relative to what the
result is a sum of: to |a|·|b| of a product, so that cancelling counts as nobody's fault. Numbers are of random data, seeded.
"""

import sys
from pathlib import Path

import numpy
import pyarrow

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import quiver
from tables import listed

KINDS = {"DOUBLE": numpy.float64, "REAL": numpy.float32}
wide = numpy.longdouble


def main() -> int:
    print(f"{'':44}{'Quiver':>12}{'numpy':>12}   relative; as a part of what is summed up")
    with quiver.open() as con:
        for measure in (vectors, blocks, tables, statistics):
            for name, ours, theirs in measure(con):
                print(f"{name:44}{ours:>12.1e}{theirs:>12.1e}")
    return 0


def far(found, expected, of=None) -> float:
    """The greatest error, relative to the sum of absolute terms."""
    expected = numpy.asarray(expected, wide)
    of = numpy.abs(expected) if of is None else numpy.asarray(of, wide)
    return float((numpy.abs(numpy.asarray(found, wide) - expected) / of).max())


def rows_of(values):
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(numpy.ascontiguousarray(values).ravel()), values.shape[1])


def vectors(con):
    for kind, dtype in KINDS.items():
        for width in (100, 100_000):
            random = numpy.random.default_rng(width)
            a, b = (random.standard_normal((50, width)).astype(dtype) for _ in "ab")
            con.write("vectors", pyarrow.table({"n": range(50), "a": rows_of(a), "b": rows_of(b)}), mode="replace")
            wanted = "dot(a, b) AS dot, l2_distance(a, b) AS l2, cosine_distance(a, b) AS cosine, l2_norm(a) AS norm, l1_norm(a) AS l1"
            found = con.sql(f"SELECT {wanted} FROM vectors ORDER BY n").numpy()
            x, y = a.astype(wide), b.astype(wide)
            norms, products, apart = numpy.sqrt((x * x).sum(1)), (x * y).sum(1), numpy.sqrt(((x - y) ** 2).sum(1))
            cosine = 1 - products / (norms * numpy.sqrt((y * y).sum(1)))
            # The usual way to write it, which sums REAL in REAL.
            their_cosine = 1 - numpy.einsum("ij,ij->i", a, b) / (numpy.linalg.norm(a, axis=1) * numpy.linalg.norm(b, axis=1))
            size = f"{width} {kind}"
            of = numpy.abs(x * y).sum(1)
            yield f"dot, {size}", far(found["dot"], products, of), far([p @ q for p, q in zip(a, b)], products, of)
            yield f"l2_distance, {size}", far(found["l2"], apart), far(numpy.linalg.norm(a - b, axis=1), apart)
            yield f"cosine_distance, {size}", far(found["cosine"], cosine), far(their_cosine, cosine)
            yield f"l2_norm, {size}", far(found["norm"], norms), far(numpy.linalg.norm(a, axis=1), norms)
            yield f"l1_norm, {size}", far(found["l1"], numpy.abs(x).sum(1)), far(numpy.abs(a).sum(1), numpy.abs(x).sum(1))


def blocks(con):
    """In one value, and in blocks."""
    for kind, dtype in KINDS.items():
        random = numpy.random.default_rng(8)
        a, b = (random.standard_normal((384, 384)).astype(dtype) for _ in "ab")
        x, y = a.astype(wide), b.astype(wide)
        tensors = {name: pyarrow.FixedShapeTensorArray.from_numpy_ndarray(numpy.stack([of, of])) for name, of in (("a", a), ("b", b))}
        con.write("one", tensors, mode="replace")
        found = con.sql("SELECT matrix_multiply(a, b) AS ab FROM one").numpy()["ab"][0]
        con.write_matrix("a", a, block=128, mode="replace")
        con.write_matrix("b", b, block=128, mode="replace")
        con.sql("SELECT * INTO VOLATILE ab FROM matrix_multiply('a', 'b')")
        in_blocks = numpy.asarray(con.read_matrix("ab"))
        con.sql("DROP TABLE ab")
        exact, of = x @ y, numpy.abs(x) @ numpy.abs(y)
        yield f"matrix_multiply, 384 x 384 {kind}", far(found, exact, of), far(a @ b, exact, of)
        yield f"matrix_multiply, 384 x 384 {kind} in 9 blocks", far(in_blocks, exact, of), far(a @ b, exact, of)


def tables(con):
    random = numpy.random.default_rng(9)
    a = random.standard_normal((2000, 3000))
    x = a.astype(wide)
    con.write_matrix("a", a, block=500, mode="replace")
    con.write_matrix("x", a[0], block=500, mode="replace")
    found = con.sql("SELECT block FROM matrix_vector('a', 'x') ORDER BY i").numpy()["block"].ravel()
    exact, of = x @ x[0], numpy.abs(x) @ numpy.abs(x[0])
    yield "matrix_vector, 2000 x 3000", far(found, exact, of), far(a @ a[0], exact, of)
    (norms,) = con.sql("SELECT frobenius, one_norm, infinity_norm FROM matrix_norm('a')").fetchall()
    exact = [numpy.sqrt((x * x).sum()), numpy.abs(x).sum(0).max(), numpy.abs(x).sum(1).max()]
    yield "matrix_norm, 2000 x 3000", far(norms, exact), far([numpy.linalg.norm(a, order) for order in ("fro", 1, numpy.inf)], exact)


def statistics(con):
    """Also with means that are large beside the deviations."""
    for offset in (0, 1e6):
        random = numpy.random.default_rng(10)
        points = random.standard_normal((100_000, 4)) + offset
        points[:, 3] = points[:, :3] @ [1.5, -2, 0.25] + random.standard_normal(len(points)) / 100
        con.write("points", {name: points[:, place] for place, name in enumerate("pqry")}, mode="replace")
        columns = points.astype(wide)
        centred = columns - columns.mean(0)
        covariance = centred.T @ centred / wide(len(points) - 1)
        deviations = numpy.sqrt(numpy.diag(covariance))
        of = numpy.outer(deviations, deviations)
        (found, also) = con.sql("SELECT covariance_matrix(p, q, r, y), correlation_matrix(p, q, r, y) FROM points").fetchone()
        yield f"covariance_matrix, means {offset:g}", far(found, covariance, of), far(numpy.cov(points.T), covariance, of)
        yield f"correlation_matrix, means {offset:g}", far(also, covariance / of, 1), far(numpy.corrcoef(points.T), covariance / of, 1)
        exact = solved(covariance[:3, :3], covariance[:3, 3])
        (slopes,) = con.sql("SELECT fit.coefficients FROM (SELECT linear_regression(y, p, q, r) AS fit FROM points) AS t").fetchone()
        with_ones = numpy.column_stack([points[:, :3], numpy.ones(len(points))])
        yield f"linear_regression, means {offset:g}", far(slopes, exact), far(numpy.linalg.lstsq(with_ones, points[:, 3])[0][:3], exact)
    centroids = points[:5, :3] - offset
    near = columns[:, :3] - wide(offset)
    nearest = ((near[:, None] - centroids) ** 2).sum(2).argmin(1)
    exact = numpy.stack([near[nearest == k].mean(0) for k in range(5)])
    con.write("near", {"v": rows_of(points[:, :3] - offset)}, mode="replace")
    rows = con.sql(f"SELECT centroid FROM kmeans('near', 'v', 5, 1, [{', '.join(map(listed, centroids))}]) ORDER BY cluster").fetchall()
    theirs = numpy.stack([(points[:, :3] - offset)[nearest == k].mean(0) for k in range(5)])
    of = numpy.abs(exact).max()
    yield "kmeans, 100,000 points, one iteration", far([row[0] for row in rows], exact, of), far(theirs, exact, of)


def solved(matrix, right):
    """Gaussian elimination with pivots, in the precision of the input: numpy.linalg only supports doubles."""
    rows = numpy.column_stack([matrix, right])
    for at in range(len(rows)):
        best = at + int(numpy.abs(rows[at:, at]).argmax())
        rows[[at, best]] = rows[[best, at]]
        for other in range(len(rows)):
            if other != at:
                rows[other] -= rows[at] * (rows[other, at] / rows[at, at])
    return rows[:, -1] / numpy.diag(rows)


if __name__ == "__main__":
    sys.exit(main())
