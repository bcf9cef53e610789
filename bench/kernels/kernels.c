/* The kernels for WebAssembly. EDGES of the bins, BINS, CENTRES, DIMENSIONS and ITERATIONS come from workloads.py. */
#include "quiver.h"
QUIVER_MODULE

#define UNROLLED _Pragma("clang loop interleave_count(4)")

/* A column of a table. */
static const struct ArrowArray *column(const struct ArrowArray *argument, int at) { return quiver_table(argument)->children[at]; }

/* The numbers of all rows of a list or tensor. */
static const double *items(const struct ArrowArray *column) { return quiver_values(column->children[0]); }

/* Makes `result` an array of tensors of so many numbers each. */
static double *tensors(struct ArrowArray *result, int64_t rows, int64_t size) {
    const void **buffers = (const void **)quiver_alloc(sizeof(void *));
    struct ArrowArray **children = (struct ArrowArray **)quiver_alloc(2 * sizeof(void *) + sizeof(struct ArrowArray));
    if (!buffers || !children) return 0;
    struct ArrowArray *child = children[0] = (struct ArrowArray *)(children + 2);
    *child = (struct ArrowArray){0};
    buffers[0] = 0;
    result->length = rows;
    result->n_buffers = 1;
    result->buffers = buffers;
    result->n_children = 1;
    result->children = children;
    return quiver_result(child, rows * size, sizeof(double), 0);
}

/* An aggregate: how many values each bin has, as the bytes of 64-bit integers. */
struct counts {
    int64_t bins[BINS];
};
QUIVER_AGGREGATE(counts, struct counts)
QUIVER_UPDATE(counts, struct counts) {
    const double *v = quiver_values(arguments->children[0]);
    for (int64_t i = 0; i < arguments->length; i++) {
        int bin = 0;
        for (int step = 128; step; step /= 2) {
            int next = bin + step;
            bin = next < BINS && EDGES[next] <= v[i] ? next : bin;
        }
        states[groups[i]].bins[bin]++;
    }
    return 0;
}
QUIVER_MERGE(counts, struct counts) {
    for (uint32_t i = 0; i < count; i++) {
        for (int bin = 0; bin < BINS; bin++) states[groups[i]].bins[bin] += from[i].bins[bin];
    }
    return 0;
}
QUIVER_FINISH(counts, struct counts) {
    int32_t *offsets;
    int64_t *bins = (int64_t *)quiver_text_result(result, count, count * sizeof(struct counts), 0, &offsets);
    if (!bins) return "there is no memory";
    for (uint32_t i = 0; i <= count; i++) offsets[i] = (int32_t)(i * sizeof(struct counts));
    for (uint32_t i = 0; i < count; i++) {
        for (int bin = 0; bin < BINS; bin++) bins[i * BINS + bin] = states[i].bins[bin];
    }
    return 0;
}

/* k-means: (x TABLE, start DOUBLE[]) returns the numbers of the centres. */
QUIVER_FUNCTION(centres) {
    const struct ArrowArray *points = column(arguments->children[0], 0);
    const double *x = items(points), *start = items(arguments->children[1]);
    struct ArrowArray **columns = quiver_table_result(result, CENTRES * DIMENSIONS, 1);
    double *centre = columns ? quiver_result(columns[0], CENTRES * DIMENSIONS, sizeof(double), 0) : 0;
    if (!centre) return "there is no memory";
    for (int i = 0; i < CENTRES * DIMENSIONS; i++) centre[i] = start[i];
    static double sums[CENTRES][DIMENSIONS], across[DIMENSIONS][CENTRES], squares[CENTRES];
    static int64_t counts[CENTRES];
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        for (int c = 0; c < CENTRES; c++) {
            counts[c] = 0;
            squares[c] = 0;
            for (int d = 0; d < DIMENSIONS; d++) {
                sums[c][d] = 0;
                across[d][c] = -2 * centre[c * DIMENSIONS + d];
                squares[c] += centre[c * DIMENSIONS + d] * centre[c * DIMENSIONS + d];
            }
        }
        for (int64_t i = 0; i < points->length; i++) {
            const double *point = x + i * DIMENSIONS;
            double distances[CENTRES];
            for (int c = 0; c < CENTRES; c++) distances[c] = squares[c];
            for (int d = 0; d < DIMENSIONS; d++) {
#pragma clang loop unroll(full)
                for (int c = 0; c < CENTRES; c++) distances[c] += point[d] * across[d][c];
            }
            int nearest = 0;
            for (int c = 1; c < CENTRES; c++) nearest = distances[c] < distances[nearest] ? c : nearest;
            counts[nearest]++;
#pragma clang loop unroll(full)
            for (int d = 0; d < DIMENSIONS; d++) sums[nearest][d] += point[d];
        }
        for (int c = 0; c < CENTRES; c++) {
            for (int d = 0; counts[c] && d < DIMENSIONS; d++) centre[c * DIMENSIONS + d] = sums[c][d] / (double)counts[c];
        }
    }
    return 0;
}

/* The sum of two blocks, for each row. */
QUIVER_FUNCTION(added) {
    const double *a = items(arguments->children[0]), *b = items(arguments->children[1]);
    int64_t rows = arguments->length, size = rows ? arguments->children[0]->children[0]->length / rows : 0;
    double *sums = tensors(result, rows, size);
    if (!sums) return "there is no memory";
    UNROLLED for (int64_t i = 0; i < rows * size; i++) sums[i] = a[i] + b[i];
    return 0;
}

/* The product of two matrices of blocks with `side` rows: (a TABLE, b TABLE, side BIGINT); both have the columns i, j and block. */
QUIVER_FUNCTION(products) {
    const struct ArrowArray *a = arguments->children[0], *b = arguments->children[1];
    const int64_t *ai = quiver_values(column(a, 0)), *aj = quiver_values(column(a, 1));
    const int64_t *bi = quiver_values(column(b, 0)), *bj = quiver_values(column(b, 1));
    const double *a_blocks = items(column(a, 2)), *b_blocks = items(column(b, 2));
    int64_t side = *(const int64_t *)quiver_values(arguments->children[2]), blocks = quiver_table(a)->length, size = side * side;
    struct ArrowArray **columns = quiver_table_result(result, blocks, 3);
    if (!columns) return "there is no memory";
    int64_t *i = quiver_result(columns[0], blocks, sizeof(int64_t), 0), *j = quiver_result(columns[1], blocks, sizeof(int64_t), 0);
    double *product = tensors(columns[2], blocks, size);
    if (!i || !j || !product) return "there is no memory";
    for (int64_t at = 0; at < blocks * size; at++) product[at] = 0;
    for (int64_t at = 0; at < blocks; at++) {
        i[at] = ai[at];
        j[at] = aj[at];
        double *sum = product + at * size;
        for (int64_t left = 0; left < blocks; left++) {
            for (int64_t right = 0; right < blocks; right++) {
                if (ai[left] != i[at] || bj[right] != j[at] || aj[left] != bi[right]) continue;
                const double *l = a_blocks + left * size, *r = b_blocks + right * size;
                /* 64 rows of the right block and 128 of their columns stay in the cache. */
                for (int64_t k0 = 0; k0 < side; k0 += 64) {
                    int64_t k1 = k0 + 64 < side ? k0 + 64 : side;
                    for (int64_t c0 = 0; c0 < side; c0 += 128) {
                        int64_t width = c0 + 128 < side ? 128 : side - c0;
                        for (int64_t row = 0; row < side; row++) {
                            double *target = sum + row * side + c0;
                            int64_t k = k0;
                            for (; k + 4 <= k1; k += 4) {
                                const double *from = l + row * side + k, *rows = r + k * side + c0;
                                double f0 = from[0], f1 = from[1], f2 = from[2], f3 = from[3];
                                UNROLLED for (int64_t c = 0; c < width; c++) {
                                    target[c] += f0 * rows[c] + f1 * rows[side + c] + f2 * rows[2 * side + c] + f3 * rows[3 * side + c];
                                }
                            }
                            for (; k < k1; k++) {
                                double factor = l[row * side + k];
                                for (int64_t c = 0; c < width; c++) target[c] += factor * r[k * side + c0 + c];
                            }
                        }
                    }
                }
            }
        }
    }
    return 0;
}
