/* The k largest of each row, without Python or torch: `out` is `source` there and 0 elsewhere.
 *
 * Numbers are compared as integers of the same order. Of equal ones the first win, and a nan is larger than all. */

#include <stdint.h>
#include <string.h>

#define INLINE inline __attribute__((always_inline))

typedef struct {
    const float *x, *source;
    float *out;
    int64_t channels, winners;
} Job;

enum { LANES = 8, SHORT = 32, LONGEST = 4096, NOTHING = INT32_MIN + 1 }; /* NOTHING is less than any number's key */

#if defined(__x86_64__) && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#elif defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

typedef int32_t V __attribute__((vector_size(4 * LANES)));
typedef float F __attribute__((vector_size(4 * LANES)));

static INLINE V read_lanes(const void *at) { V v; memcpy(&v, at, sizeof v); return v; }
static INLINE void write_lanes(void *at, V v) { memcpy(at, &v, sizeof v); }
static INLINE V key_of(V bits) {
    const V key = bits ^ ((bits >> 31) & INT32_MAX), is_nan = (V)((F)bits != (F)bits);
    return (key & ~is_nan) | (is_nan & INT32_MAX);
}
static INLINE int32_t sum(V v) {
    int32_t total = 0;
    for (int i = 0; i < LANES; i++) total += v[i];
    return total;
}

/* In whole vectors, with NOTHING beyond the end of the row. */
static INLINE void write_keys(const float *x, int32_t *keys, int64_t channels) {
    int64_t i = 0;
    for (; i + LANES <= channels; i += LANES) write_lanes(keys + i, key_of(read_lanes(x + i)));
    if (i < channels) {
        V last = {0};
        memcpy(&last, x + i, (size_t)(channels - i) * 4);
        last = key_of(last);
        for (int lane = (int)(channels - i); lane < LANES; lane++) last[lane] = NOTHING;
        write_lanes(keys + i, last);
    }
}

static INLINE void write_winners(V wins, const float *source, float *out, int64_t left) {
    if (left >= LANES) {
        write_lanes(out, wins & read_lanes(source));
    } else {
        V last = {0};
        memcpy(&last, source, (size_t)left * 4);
        last &= wins;
        memcpy(out, &last, (size_t)left * 4);
    }
}

/* Few channels, without a branch: the place of each is the number of those that come before it. */
static INLINE void select_short_row(const float *x, const float *source, float *out, int channels, int32_t winners) {
    const V lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    int32_t keys[SHORT];
    write_keys(x, keys, channels);
    for (int i = 0; i < channels; i += LANES) {
        const V mine = read_lanes(keys + i);
        V place = {0};
        for (int j = 0; j < channels; j++) place -= keys[j] > mine + (lanes + i > j);
        write_winners(place < winners, source + i, out + i, channels - i);
    }
}

static INLINE int64_t count_from(const int32_t *keys, int64_t channels, int32_t threshold) {
    V count = {0};
    for (int64_t i = 0; i < channels; i += LANES) count -= read_lanes(keys + i) >= threshold;
    return sum(count);
}

/* Many channels: the interval in which the threshold lies is halved until as many keys reach it as may win. */
static INLINE void select_long_row(const float *x, const float *source, float *out, int64_t channels, int64_t winners) {
    int32_t keys[LONGEST];
    write_keys(x, keys, channels);
    int64_t low = INT32_MIN, high = (int64_t)INT32_MAX + 1; /* enough keys reach low, too few reach high */
    int64_t count = channels;
    while (count != winners && high - low > 1) {
        const int64_t middle = (low + high) >> 1, reached = count_from(keys, channels, (int32_t)middle);
        if (reached >= winners) low = middle, count = reached;
        else high = middle;
    }
    const int32_t threshold = (int32_t)low;
    for (int64_t i = channels - 1; count > winners; i--)
        if (keys[i] == threshold) keys[i] = NOTHING, count--;
    for (int64_t i = 0; i < channels; i += LANES)
        write_winners(read_lanes(keys + i) >= threshold, source + i, out + i, channels - i);
}

/* A body for torch_parallel_for. */
static void select_rows(int64_t begin, int64_t end, void *context) {
    const Job *job = context;
    for (int64_t at = begin * job->channels; at < end * job->channels; at += job->channels) {
        if (job->channels <= SHORT)
            select_short_row(job->x + at, job->source + at, job->out + at, (int)job->channels, (int32_t)job->winners);
        else select_long_row(job->x + at, job->source + at, job->out + at, job->channels, job->winners);
    }
}

#if defined(__x86_64__) && defined(__clang__)
#pragma clang attribute pop
#elif defined(__x86_64__)
#pragma GCC pop_options
#endif

static int runs_here(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2");
#else
    return 1;
#endif
}
