/*
 * Functions of Quiver in C, for WebAssembly:
 *
 *     clang --target=wasm32 -O3 -msimd128 -mbulk-memory -nostdlib -Wl,--no-entry -o area.wasm area.c
 *
 * A function gets the rows of a batch as a struct array with a child for each argument, in Arrow's C data interface, and fills `result` with an
 * array of as many values. It returns 0, or a text that says what is wrong:
 *
 *     #include "quiver.h"
 *     QUIVER_MODULE
 *
 *     QUIVER_FUNCTION(area) {
 *         const double *w = quiver_values(arguments->children[0]), *h = quiver_values(arguments->children[1]);
 *         double *area = quiver_result(result, arguments->length, sizeof(double), 0);
 *         if (!area) return "there is no memory";
 *         for (int64_t i = 0; i < arguments->length; i++) area[i] = w[i] * h[i];
 *         return 0;
 *     }
 *
 * Memory of `quiver_alloc` is free again at the next call. What else a module keeps between calls may be gone at any time. Loops should do
 * several values in each round (`#pragma clang loop interleave_count(8)`), because each round of a loop looks whether the call is to stop.
 */
#ifndef QUIVER_H
#define QUIVER_H

#include <stdint.h>

/* https://arrow.apache.org/docs/format/CDataInterface.html */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#define QUIVER_EXPORT(name) __attribute__((export_name(#name)))

/* The beginning of a function with this name. */
#define QUIVER_FUNCTION(name)                                                                                        \
    QUIVER_EXPORT(name)                                                                                              \
    const char *name(const struct ArrowSchema *schema, const struct ArrowArray *arguments, struct ArrowArray *result)

/*
 * An aggregate `f` of four functions. A state of zeros is that of no rows; states are bytes, which may be moved, so there are no pointers in them.
 *
 *     struct average { double sum; int64_t count; };
 *     QUIVER_AGGREGATE(average, struct average)
 *     QUIVER_UPDATE(average, struct average) {
 *         const double *x = quiver_values(arguments->children[0]);
 *         for (int64_t i = 0; i < arguments->length; i++) {
 *             if (!quiver_is_valid(arguments->children[0], i)) continue;
 *             states[groups[i]].sum += x[i];
 *             states[groups[i]].count++;
 *         }
 *         return 0;
 *     }
 *     QUIVER_MERGE(average, struct average) {
 *         for (uint32_t i = 0; i < count; i++) {
 *             states[groups[i]].sum += from[i].sum;
 *             states[groups[i]].count += from[i].count;
 *         }
 *         return 0;
 *     }
 *     QUIVER_FINISH(average, struct average) {
 *         uint8_t *validity = quiver_bits(count);
 *         double *means = quiver_result(result, count, sizeof(double), validity);
 *         if (!validity || !means) return "there is no memory";
 *         for (uint32_t i = 0; i < count; i++) {
 *             if (states[i].count) quiver_set_bit(validity, i);
 *             means[i] = states[i].sum / states[i].count;
 *         }
 *         return 0;
 *     }
 */
#define QUIVER_AGGREGATE(name, state)                                                                                \
    QUIVER_EXPORT(name##_state_bytes) uint32_t name##_state_bytes(void) { return sizeof(state); }
#define QUIVER_UPDATE(name, state)                                                                                   \
    QUIVER_EXPORT(name##_update)                                                                                     \
    const char *name##_update(const struct ArrowSchema *schema, const struct ArrowArray *arguments, const uint32_t *groups, state *states)
#define QUIVER_MERGE(name, state)                                                                                    \
    QUIVER_EXPORT(name##_merge)                                                                                      \
    const char *name##_merge(const state *from, const uint32_t *groups, uint32_t count, state *states)
#define QUIVER_FINISH(name, state)                                                                                   \
    QUIVER_EXPORT(name##_finish) const char *name##_finish(const state *states, uint32_t count, struct ArrowArray *result)

/* Memory until the next call, aligned to 64 bytes; 0 if there is none. */
void *quiver_alloc(uint32_t bytes);
void quiver_reset(void);
/* The states of an aggregate, which stay, and room for so many bytes of them. */
void *quiver_states(uint32_t bytes);
void *quiver_states_start(void);

/* Once in each module: its memory. The states come first, then what the next call overwrites. */
#define QUIVER_MODULE                                                                                                \
    extern unsigned char __heap_base;                                                                                \
    static uint32_t quiver_next, quiver_kept;                                                                        \
    static uint64_t quiver_aligned(uint64_t address) { return (address + 63) & ~63ull; }                             \
    static int quiver_has(uint64_t end) {                                                                            \
        uint64_t size = (uint64_t)__builtin_wasm_memory_size(0) << 16;                                               \
        if (end > UINT32_MAX) return 0;                                                                              \
        return end <= size || __builtin_wasm_memory_grow(0, (end - size + 65535) >> 16) != (__SIZE_TYPE__)-1;         \
    }                                                                                                                \
    QUIVER_EXPORT(quiver_states_start) void *quiver_states_start(void) {                                             \
        return (void *)(uint32_t)quiver_aligned((uint32_t)&__heap_base);                                             \
    }                                                                                                                \
    QUIVER_EXPORT(quiver_reset) void quiver_reset(void) {                                                            \
        quiver_next = (uint32_t)quiver_aligned((uint64_t)(uint32_t)quiver_states_start() + quiver_kept);             \
    }                                                                                                                \
    QUIVER_EXPORT(quiver_states) void *quiver_states(uint32_t bytes) {                                               \
        if (!quiver_has(quiver_aligned((uint64_t)(uint32_t)quiver_states_start() + bytes))) return 0;                \
        quiver_kept = bytes;                                                                                         \
        quiver_reset();                                                                                              \
        return quiver_states_start();                                                                                \
    }                                                                                                                \
    QUIVER_EXPORT(quiver_alloc) void *quiver_alloc(uint32_t bytes) {                                                 \
        if (!quiver_next) quiver_reset();                                                                            \
        uint64_t end = quiver_aligned((uint64_t)quiver_next + bytes);                                                \
        if (!quiver_has(end)) return 0;                                                                              \
        void *start = (void *)quiver_next;                                                                           \
        quiver_next = (uint32_t)end;                                                                                 \
        return start;                                                                                                \
    }

/* The values of an argument whose values all have the same size; its offset is 0. Bits for BOOLEAN. */
static inline const void *quiver_values(const struct ArrowArray *array) { return array->buffers[1]; }

/* Whether a value is not NULL. */
static inline int quiver_is_valid(const struct ArrowArray *array, int64_t row) {
    const uint8_t *validity = array->buffers[0];
    return !validity || (validity[row >> 3] >> (row & 7) & 1);
}

/* A text or bytes, and how many. */
static inline const char *quiver_text(const struct ArrowArray *array, int64_t row, int32_t *bytes) {
    const int32_t *offsets = array->buffers[1];
    *bytes = offsets[row + 1] - offsets[row];
    return (const char *)array->buffers[2] + offsets[row];
}

/* Makes `result` an array of values of `width` bytes, and returns these; 0 if there is no memory. `validity` has a bit for each value that is not
 * NULL, or is 0 if none is. */
static inline void *quiver_result(struct ArrowArray *result, int64_t rows, uint32_t width, const uint8_t *validity) {
    const void **buffers = (const void **)quiver_alloc(2 * sizeof(void *));
    void *values = quiver_alloc((uint32_t)rows * width);
    if (!buffers || !values) return 0;
    buffers[0] = validity;
    buffers[1] = values;
    result->length = rows;
    result->null_count = validity ? -1 : 0;
    result->n_buffers = 2;
    result->buffers = buffers;
    return values;
}

/* The same for texts or bytes: the caller fills rows + 1 offsets, and `bytes` bytes. */
static inline char *quiver_text_result(struct ArrowArray *result, int64_t rows, uint32_t bytes, const uint8_t *validity, int32_t **offsets) {
    const void **buffers = (const void **)quiver_alloc(3 * sizeof(void *));
    *offsets = (int32_t *)quiver_alloc(((uint32_t)rows + 1) * sizeof(int32_t));
    char *values = (char *)quiver_alloc(bytes + 1);
    if (!buffers || !*offsets || !values) return 0;
    buffers[0] = validity;
    buffers[1] = *offsets;
    buffers[2] = values;
    result->length = rows;
    result->null_count = validity ? -1 : 0;
    result->n_buffers = 3;
    result->buffers = buffers;
    return values;
}

/* The rows of a parameter of type TABLE: a struct array with a child for each column. A function that RETURNS TABLE is called once, with one row. */
static inline const struct ArrowArray *quiver_table(const struct ArrowArray *argument) { return argument->children[0]; }

/* Makes `result` a table of so many rows, and returns its columns, each of which is to be made an array like a result; 0 if there is no memory. */
static inline struct ArrowArray **quiver_table_result(struct ArrowArray *result, int64_t rows, uint32_t columns) {
    const void **buffers = (const void **)quiver_alloc(sizeof(void *));
    struct ArrowArray **children = (struct ArrowArray **)quiver_alloc(columns * sizeof(struct ArrowArray *));
    unsigned char *arrays = (unsigned char *)quiver_alloc(columns * sizeof(struct ArrowArray));
    if (!buffers || !children || !arrays) return 0;
    for (uint32_t at = 0; at < columns * sizeof(struct ArrowArray); at++) arrays[at] = 0;
    for (uint32_t at = 0; at < columns; at++) children[at] = (struct ArrowArray *)(arrays + at * sizeof(struct ArrowArray));
    buffers[0] = 0;
    result->length = rows;
    result->n_buffers = 1;
    result->buffers = buffers;
    result->n_children = columns;
    result->children = children;
    return children;
}

/* A bit for each of so many rows, all 0. */
static inline uint8_t *quiver_bits(int64_t rows) {
    uint32_t bytes = (uint32_t)((rows + 7) / 8);
    uint8_t *bits = (uint8_t *)quiver_alloc(bytes + 1);
    for (uint32_t at = 0; bits && at < bytes; at++) bits[at] = 0;
    return bits;
}

static inline void quiver_set_bit(uint8_t *bits, int64_t row) { bits[row >> 3] |= (uint8_t)(1 << (row & 7)); }

#endif
