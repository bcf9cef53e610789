/* What the memory of this machine gives to OMP_NUM_THREADS threads: the triad of McCalpin's STREAM, and reading alone. */

void triad(double *a, const double *b, const double *c, long n) {
#pragma omp parallel for simd
    for (long i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
}

double total(const double *a, long n) {
    double sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (long i = 0; i < n; i++) sum += a[i];
    return sum;
}
