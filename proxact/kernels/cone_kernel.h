/* The cone projection on the CPU, without Python or torch: types, instruction sets, the walk over memory.
 *
 * The tensor is seen as (outer, channels, inner), dense. Groups of m channels are adjacent or split; see _groups.py. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INLINE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8") /* with m known, the members of a group stay in registers */

typedef struct { double cos, sin, wide, narrow; } Angle;
typedef struct {
    double keep, leak;
    const void *prepared; /* the numbers a kernel needs for its angle, see prepare */
} Leak;
typedef struct {
    int64_t groups, member, lane; /* lane i of member j lies at j * member + i * lane */
    int present;                  /* members in memory; the others are 0 (padding) */
    int by_group;                 /* an angle for each group */
    int64_t rows, pitch;          /* so many times, each row so many elements after the one before */
} Span;

typedef struct {
    void (*prepare)(void *prepared, int m, const Angle *, const Leak *);
    void (*forward)(int m, const void *x, void *y, const Span *, const Angle *, const Leak *);
    void (*backward)(int m, const void *x, const void *g, void *dx, double *by_angle, const Span *, const Angle *,
                     const Leak *);
    void (*relu)(const void *x, void *y, int64_t count, const Leak *);
    void (*relu_backward)(const void *x, const void *g, void *dx, int64_t count, const Leak *);
    int size;
} Kernels;

#include "cone_careful.h"

/* ---- instruction sets ---- */

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define HAVE_X86 1
#else
#define HAVE_X86 0
#endif

#define ISA baseline
#define SPECIALISED !HAVE_X86 /* where a better set is there, this one only has to work */
#include "cone_isa.h"

#if HAVE_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
#define ISA avx2
#define SPECIALISED 1
#include "cone_isa.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

static const char *instruction_set(void) {
#if HAVE_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) return "avx2";
#endif
    return "baseline";
}

static const Kernels *kernels_for(int dtype, int use_baseline) {
#if HAVE_X86
    if (!use_baseline && instruction_set()[0] == 'a') return &kernels_all_avx2[dtype];
#endif
    return &kernels_all_baseline[dtype];
}

/* ---- the walk over memory ---- */

typedef struct { char bytes[256] __attribute__((aligned(32))); } Prepared;

typedef struct {
    const Kernels *kernels;
    const char *x, *g; /* g: gradient of the output, null in the forward pass */
    char *out;
    int64_t outer, channels, inner, groups;
    int m, split, pad;
    const Angle *angles;
    int by_group;
    Leak leak;
    Prepared prepared;
    int64_t lines, blocks, block_groups; /* lines for each outer index, blocks for each line, groups in a block */
    int64_t block_lines; /* > 1: lines so short that a block takes several */
    int64_t rows; /* > 0: blocks are so many outer indices (see run_rows) */
    int64_t chunks;
    double *partial; /* chunks x number of angles; summed in order at the end, so threads do not matter */
} Job;

enum { BLOCK_ELEMENTS = 4096, CHUNKS = 64 };

static void run_span(const Job *job, double *by_angle, int64_t at, Span span, int64_t first_group) {
    int64_t byte = at * job->kernels->size;
    const Angle *angle = job->angles + (job->by_group ? first_group : 0);
    double *turned = by_angle + (job->by_group ? first_group : 0);
    Prepared own;
    Leak leak = job->leak;
    if (job->by_group) {
        job->kernels->prepare(&own, job->m, angle, &leak);
        leak.prepared = &own;
    }
    if (job->g)
        job->kernels->backward(job->m, job->x + byte, job->g + byte, job->out + byte, turned, &span, angle, &leak);
    else
        job->kernels->forward(job->m, job->x + byte, job->out + byte, &span, angle, &leak);
}

static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

/* Channels beyond the last whole group, of one outer index. */
static void run_remainder(const Job *job, double *by_angle, int64_t base) {
    const int64_t whole = job->channels / job->m * job->m, rest = job->channels - whole, inner = job->inner;
    if (!rest) return;
    if (!job->pad) {
        int64_t byte = (base + whole * inner) * job->kernels->size;
        if (job->g)
            job->kernels->relu_backward(job->x + byte, job->g + byte, job->out + byte, rest * inner, &job->leak);
        else
            job->kernels->relu(job->x + byte, job->out + byte, rest * inner, &job->leak);
        return;
    }
    if (!job->split) {
        Span span = {inner, inner, 1, (int)rest, 0, 1, 0};
        run_span(job, by_angle, base + whole * inner, span, job->groups - 1);
        return;
    }
    /* Split and padded: member j has the channels from j * groups on, of which the last members lack the end. */
    for (int present = job->m - 1; present >= 1; present--) {
        int64_t from = at_least(0, job->channels - present * job->groups);
        int64_t to = at_most(job->groups, job->channels - (present - 1) * job->groups);
        for (int64_t g = from; g < to; g++) {
            Span span = {inner, job->groups * inner, 1, present, 0, 1, 0};
            run_span(job, by_angle, base + g * inner, span, g);
        }
    }
}

/* Groups that are whole: of split and padded channels those whose last member is there. */
static int64_t whole_groups(const Job *job) {
    if (job->split && job->pad) return at_least(0, job->channels - (job->m - 1) * job->groups);
    return job->channels / job->m;
}

/* Interleaved channels that do not fill their groups, as 64 channels for m = 3: some outer indices (rows) at a time.
 * What is left over of each row, and groups too few for a vector, are taken from several rows at once. */
static void run_rows(const Job *job, double *by_angle, int64_t first_row) {
    const int64_t rows = at_most(job->rows, job->outer - first_row), m = job->m, n = job->channels;
    const int64_t whole = n / m, base = first_row * n;
    if (whole >= 8) {
        Span span = {whole, 1, m, job->m, 0, rows, n};
        run_span(job, by_angle, base, span, 0);
    } else if (whole) {
        Span span = {rows, 1, n, job->m, 0, whole, m};
        run_span(job, by_angle, base, span, 0);
    }
    if (job->pad) {
        Span span = {rows, 1, n, (int)(n - whole * m), 0, 1, 0};
        run_span(job, by_angle, base + whole * m, span, 0);
    } else {
        for (int64_t row = 0; row < rows; row++) run_remainder(job, by_angle, base + row * n);
    }
}

static void run_block(const Job *job, double *by_angle, int64_t index) {
    if (job->rows) {
        run_rows(job, by_angle, index * job->rows);
        return;
    }
    const int64_t line_blocks = (job->lines + job->block_lines - 1) / job->block_lines;
    const int64_t block = index % job->blocks, line = index / job->blocks % line_blocks * job->block_lines;
    const int64_t base = index / job->blocks / line_blocks * job->channels * job->inner;
    const int64_t whole = whole_groups(job), inner = job->inner, m = job->m;
    if (block == 0 && line == 0) run_remainder(job, by_angle, base);
    if (!whole) return;
    /* One line is a run of groups at a fixed distance: all groups of an outer index where they lie side by side in
     * memory, else one group with its inner positions. */
    const int side_by_side = inner == 1 || (job->split && !job->by_group);
    const int64_t positions = side_by_side ? whole * inner : inner;
    const int64_t start = block * job->block_groups, count = at_most(job->block_groups, positions - start);
    if (count <= 0) return;
    Span span = {count, job->split ? job->groups * inner : inner, 1, job->m, job->by_group && side_by_side, 1, 0};
    int64_t at = base + (side_by_side ? 0 : line * (job->split ? inner : m * inner)) + start;
    if (!job->split && inner == 1) {
        span.lane = m;
        at = base + start * m;
    }
    if (m == 1) span.lane = 1;
    if (!side_by_side && !job->split) {
        span.rows = at_most(job->block_lines, job->lines - line);
        span.pitch = m * inner;
    }
    run_span(job, by_angle, at, span, side_by_side ? start : line);
}

static int64_t count_blocks(const Job *job) {
    if (job->rows) return (job->outer + job->rows - 1) / job->rows;
    return job->outer * ((job->lines + job->block_lines - 1) / job->block_lines) * job->blocks;
}

/* The body of the parallel loop: chunks of blocks, each with sums of its own. */
static void run_chunks(int64_t begin, int64_t end, void *context) {
    const Job *job = context;
    const int64_t total = count_blocks(job);
    for (int64_t chunk = begin; chunk < end; chunk++) {
        double *by_angle = job->partial + (job->by_group ? chunk * job->groups : chunk);
        for (int64_t i = chunk * total / job->chunks; i < (chunk + 1) * total / job->chunks; i++)
            run_block(job, by_angle, i);
    }
}

static void plan(Job *job) {
    job->kernels->prepare(&job->prepared, job->m, job->angles, &job->leak);
    job->leak.prepared = &job->prepared;
    const int64_t n = job->channels, m = job->m;
    job->groups = job->pad ? (n + m - 1) / m : n / m;
    /* Groups that never cross an outer index can be walked as one long line. */
    if (!job->split && job->inner == 1 && n % m == 0 && !job->by_group) {
        job->channels = n * job->outer, job->outer = 1;
        job->groups = job->channels / m;
    }
    const int64_t whole = whole_groups(job);
    const int side_by_side = job->inner == 1 || (job->split && !job->by_group);
    const int64_t positions = side_by_side ? whole * job->inner : job->inner;
    job->lines = side_by_side ? 1 : at_least(1, whole);
    job->block_groups = at_least(64, BLOCK_ELEMENTS / m / 64 * 64);
    job->blocks = at_least(1, (positions + job->block_groups - 1) / job->block_groups);
    job->block_lines = 1;
    if (job->blocks == 1 && !job->split && !job->by_group)
        job->block_lines = at_least(1, at_most(job->lines, job->block_groups / at_least(1, positions)));
    if (!job->split && job->inner == 1 && !job->by_group && n % m != 0)
        job->rows = at_least(8, BLOCK_ELEMENTS / at_least(1, n) / 8 * 8);
    job->chunks = at_most(CHUNKS, at_least(1, count_blocks(job)));
}
