/* Functions for test_wasm_functions.py: honest ones, and some that do all that a module must not do. */
#include "quiver.h"
QUIVER_MODULE

QUIVER_FUNCTION(area) {
    const double *w = quiver_values(arguments->children[0]), *h = quiver_values(arguments->children[1]);
    double *area = quiver_result(result, arguments->length, sizeof(double), arguments->children[0]->buffers[0]);
    if (!area) return "there is no memory";
#pragma clang loop interleave_count(8)
    for (int64_t i = 0; i < arguments->length; i++) area[i] = w[i] * h[i];
    return 0;
}

/* The argument itself, of whatever type. */
QUIVER_FUNCTION(same) {
    *result = *arguments->children[0];
    return 0;
}

QUIVER_FUNCTION(shout) {
    const struct ArrowArray *text = arguments->children[0];
    const int32_t *from = text->buffers[1];
    int32_t *offsets, bytes = text->length ? from[text->length] - from[0] : 0;
    char *to = quiver_text_result(result, text->length, bytes, text->buffers[0], &offsets);
    if (!to) return "there is no memory";
    for (int64_t i = 0; i <= text->length; i++) offsets[i] = from[i] - from[0];
    for (int32_t i = 0; i < bytes; i++) {
        char letter = ((const char *)text->buffers[2])[from[0] + i];
        to[i] = letter >= 'a' && letter <= 'z' ? letter - 32 : letter;
    }
    return 0;
}

/* How many values are not NULL, in each list of integers. */
QUIVER_FUNCTION(count_valid) {
    const struct ArrowArray *lists = arguments->children[0], *values = lists->children[0];
    const int32_t *offsets = lists->buffers[1];
    int64_t *counts = quiver_result(result, lists->length, sizeof(int64_t), lists->buffers[0]);
    for (int64_t i = 0; i < lists->length; i++) {
        counts[i] = 0;
        for (int32_t at = offsets[i]; at < offsets[i + 1]; at++) counts[i] += quiver_is_valid(values, at);
    }
    return 0;
}

QUIVER_FUNCTION(seven) {
    int64_t *values = quiver_result(result, arguments->length, sizeof(int64_t), 0);
    for (int64_t i = 0; i < arguments->length; i++) values[i] = 7;
    return 0;
}

/* What is left of the call before, if anything is. */
QUIVER_FUNCTION(kept) {
    static int64_t calls;
    int64_t *values = quiver_result(result, arguments->length, sizeof(int64_t), 0);
    for (int64_t i = 0; i < arguments->length; i++) values[i] = calls;
    calls++;
    return 0;
}

QUIVER_FUNCTION(complains) { return "the value is no box"; }

QUIVER_FUNCTION(loops) {
    volatile uint32_t x = 0;
    for (;;) x++;
}

QUIVER_FUNCTION(allocates) {
    while (quiver_alloc(1 << 20)) {}
    __builtin_trap();
}

static int64_t deeper(volatile int64_t depth) {
    volatile char room[64];
    room[depth & 63] = 1;
    return deeper(depth + 1) + room[0];
}

QUIVER_FUNCTION(recurses) {
    result->length = deeper(0);
    return 0;
}

QUIVER_FUNCTION(traps) { __builtin_trap(); }

QUIVER_FUNCTION(reads_elsewhere) {
    return (const char *)(uintptr_t) * (volatile uint32_t *)0xfffffff0u;
}

QUIVER_FUNCTION(says_elsewhere) { return (const char *)0xfffffff0u; }

QUIVER_FUNCTION(too_few) {
    quiver_result(result, arguments->length, sizeof(int64_t), 0);
    result->length = arguments->length - 1;
    return 0;
}

QUIVER_FUNCTION(no_buffers) {
    result->length = arguments->length;
    return 0;
}

QUIVER_FUNCTION(bad_text) {
    int32_t *offsets;
    char *text = quiver_text_result(result, arguments->length, 1, 0, &offsets);
    for (int64_t i = 0; i <= arguments->length; i++) offsets[i] = i > 0;
    text[0] = (char)0xff;
    return 0;
}

QUIVER_FUNCTION(bad_offsets) {
    int32_t *offsets;
    quiver_text_result(result, arguments->length, 100, 0, &offsets);
    for (int64_t i = 0; i <= arguments->length; i++) offsets[i] = i % 2 ? 90 : 3;
    return 0;
}

/* An array of numbers that the seed chooses: nothing in it need be true. */
QUIVER_FUNCTION(wild) {
    uint64_t state = (uint64_t) * (const int64_t *)quiver_values(arguments->children[0]) * 2654435761u + 12345;
    int32_t *offsets;
    quiver_text_result(result, arguments->length, 64, 0, &offsets);
    for (int64_t i = 0; i <= arguments->length; i++) offsets[i] = 0;
    for (int turn = 0; turn < 3; turn++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t at = (state >> 33) % 12;
        uint64_t value = state >> (state >> 58);
        if (at < 5) ((int64_t *)result)[at] = at == 0 ? arguments->length : (int64_t)value;
        else if (at < 8) ((uint32_t *)result)[at + 5] = (uint32_t)value;
        else if (at < 11) ((uint32_t *)(uintptr_t)((uint32_t *)result)[10])[(at - 8) & 1] = (uint32_t)value;
        else offsets[value % (arguments->length + 1)] = (int32_t)(value >> 7);
    }
    return 0;
}

struct average { double sum; int64_t count; };
QUIVER_AGGREGATE(average, struct average)
QUIVER_UPDATE(average, struct average) {
    const double *x = quiver_values(arguments->children[0]);
    for (int64_t i = 0; i < arguments->length; i++) {
        if (!quiver_is_valid(arguments->children[0], i)) continue;
        states[groups[i]].sum += x[i];
        states[groups[i]].count++;
    }
    return 0;
}
QUIVER_MERGE(average, struct average) {
    for (uint32_t i = 0; i < count; i++) {
        states[groups[i]].sum += from[i].sum;
        states[groups[i]].count += from[i].count;
    }
    return 0;
}
QUIVER_FINISH(average, struct average) {
    uint8_t *validity = quiver_bits(count);
    double *means = quiver_result(result, count, sizeof(double), validity);
    if (!validity || !means) return "there is no memory";
    for (uint32_t i = 0; i < count; i++) {
        if (states[i].count) quiver_set_bit(validity, i);
        means[i] = states[i].sum / states[i].count;
    }
    return 0;
}

/* The longest text: a state has room for 16 bytes of it. */
struct longest { int32_t bytes; char text[16]; };
QUIVER_AGGREGATE(longest, struct longest)
QUIVER_UPDATE(longest, struct longest) {
    for (int64_t i = 0; i < arguments->length; i++) {
        int32_t bytes;
        const char *text = quiver_text(arguments->children[0], i, &bytes);
        struct longest *state = &states[groups[i]];
        if (!quiver_is_valid(arguments->children[0], i) || bytes <= state->bytes || bytes > 16) continue;
        state->bytes = bytes;
        for (int32_t at = 0; at < bytes; at++) state->text[at] = text[at];
    }
    return 0;
}
QUIVER_MERGE(longest, struct longest) {
    for (uint32_t i = 0; i < count; i++)
        if (from[i].bytes > states[groups[i]].bytes) states[groups[i]] = from[i];
    return 0;
}
QUIVER_FINISH(longest, struct longest) {
    int32_t *offsets;
    char *text = quiver_text_result(result, count, 16 * count, 0, &offsets);
    if (!text) return "there is no memory";
    offsets[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (int32_t at = 0; at < states[i].bytes; at++) text[offsets[i] + at] = states[i].text[at];
        offsets[i + 1] = offsets[i] + states[i].bytes;
    }
    return 0;
}

/* One that fails at each of its steps, by the number of rows that it has seen. */
struct failing { int64_t rows; };
QUIVER_AGGREGATE(failing, struct failing)
QUIVER_UPDATE(failing, struct failing) { return "it takes no rows"; }
QUIVER_MERGE(failing, struct failing) { __builtin_trap(); }
QUIVER_FINISH(failing, struct failing) { return 0; }

/* One without end. */
QUIVER_AGGREGATE(endless, struct failing)
QUIVER_UPDATE(endless, struct failing) {
    volatile uint32_t x = 0;
    for (;;) x++;
}
QUIVER_MERGE(endless, struct failing) { return 0; }
QUIVER_FINISH(endless, struct failing) { return 0; }

/* The rows whose first column is at least `least`, with their numbers: (t TABLE, least DOUBLE). */
QUIVER_FUNCTION(at_least) {
    const struct ArrowArray *table = quiver_table(arguments->children[0]), *of = table->children[0], *names = table->children[1];
    const double *x = quiver_values(of);
    double least = *(const double *)quiver_values(arguments->children[1]);
    int64_t rows = 0;
    uint32_t bytes = 0;
    for (int64_t i = 0; i < table->length; i++) {
        int32_t size;
        if (!quiver_is_valid(of, i) || x[i] < least) continue;
        quiver_text(names, i, &size);
        bytes += (uint32_t)size;
        rows++;
    }
    struct ArrowArray **columns = quiver_table_result(result, rows, 2);
    if (!columns) return "there is no memory";
    int32_t *offsets;
    int64_t *numbers = quiver_result(columns[0], rows, sizeof(int64_t), 0);
    char *texts = quiver_text_result(columns[1], rows, bytes, 0, &offsets);
    if (!numbers || !texts) return "there is no memory";
    int32_t at = 0;
    int64_t row = 0;
    for (int64_t i = 0; i < table->length; i++) {
        int32_t size;
        if (!quiver_is_valid(of, i) || x[i] < least) continue;
        const char *text = quiver_text(names, i, &size);
        numbers[row] = i;
        offsets[row++] = at;
        for (int32_t j = 0; j < size; j++) texts[at++] = text[j];
    }
    offsets[row] = at;
    return 0;
}

/* The numbers below `n`: (n BIGINT). */
QUIVER_FUNCTION(below) {
    int64_t n = *(const int64_t *)quiver_values(arguments->children[0]);
    struct ArrowArray **columns = quiver_table_result(result, n, 1);
    int64_t *numbers = columns ? quiver_result(columns[0], n, sizeof(int64_t), 0) : 0;
    if (!numbers) return "there is no memory";
    for (int64_t i = 0; i < n; i++) numbers[i] = i;
    return 0;
}

/* A table whose columns have other lengths than it says. */
QUIVER_FUNCTION(uneven) {
    struct ArrowArray **columns = quiver_table_result(result, 5, 1);
    int64_t *numbers = quiver_result(columns[0], 3, sizeof(int64_t), 0);
    for (int64_t i = 0; i < 3; i++) numbers[i] = i;
    return 0;
}
