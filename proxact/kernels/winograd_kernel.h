/* 3 x 3 convolutions of stride 1 with zeros around the picture, without Python or torch, by Winograd's F(4 x 4, 3 x 3):
 * a patch of 6 x 6 inputs becomes 36 numbers that are multiplied with 36 of the filter, where 4 x 4 outputs would take 144.
 *
 * Pictures are (picture, row, column, channel) in float32 or bfloat16, channels a multiple of 16; filters are float32, and so is
 * what is computed in between. The 36 products over the channels are
 * matrix products over a block of patches: (patches, in) times (in, out) forward, (in, patches) times (patches, out) for the
 * filters' gradient. What is done with the filters alone, before and after, is a small matrix product in Python. */

#include <stdint.h>
#include <string.h>

#define INLINE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

enum { LANES = 8, PANEL = 2 * LANES, SIDE = 4, PATCH = 6, PLACES = PATCH * PATCH, ROWS = 6, GAP = 16 };

typedef struct {
    const void *x, *other; /* other: the filters' numbers (36, out / 16, in, 16), or the outputs' gradient */
    void *result;          /* the outputs, or for each part the gradient of the filters' numbers (36, in, out) */
    float *scratch;        /* for each part `scratch_floats` */
    int64_t pictures, height, width, in, out, parts;
} Job;

static INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static INLINE int64_t whole(int64_t count, int64_t of) { return (count + of - 1) / of; }
static INLINE int64_t patches_of(const Job *job) { return job->pictures * whole(job->height, SIDE) * whole(job->width, SIDE); }

/* Patches at a time, whole groups of rows: their numbers stay in a near cache, and they pay for reading the filters'. */
static INLINE int64_t block_of(const Job *job) {
    const int64_t wanted = larger(24, whole(larger(job->in, job->out), 8) * ROWS);
    return smaller(wanted, whole(whole(patches_of(job), job->parts), ROWS) * ROWS);
}
/* Distance between the numbers of two places; without the gap they compete for the same lines of the cache. */
static INLINE int64_t apart(const Job *job, int64_t channels) { return block_of(job) * channels + GAP; }
static int64_t scratch_floats(const Job *job) {
    return PLACES * (apart(job, job->in) + apart(job, job->out)) + larger(job->in, job->out);
}

#if defined(__x86_64__) && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#elif defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

typedef float V __attribute__((vector_size(4 * LANES)));

typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));

static INLINE V load(const float *at) { V v; memcpy(&v, at, sizeof v); return v; }
static INLINE void store(float *at, V v) { memcpy(at, &v, sizeof v); }

/* Pictures' channels: `size` bytes each, 4 in float32, 2 in bfloat16, the upper half of a float32. */
static INLINE V load_channels(const char *at, const int size) {
    if (size == 4) return load((const float *)at);
    Halves halves;
    memcpy(&halves, at, sizeof halves);
    return (V)(__builtin_convertvector(halves, Bits) << 16);
}
static INLINE void store_channels(char *at, V v, const int size) {
    if (size == 4) {
        store((float *)at, v);
    } else { /* to nearest, ties to even; a nan keeps its upper half, made a quiet one */
        const Bits bits = (Bits)v, is_nan = (Bits)(v != v);
        const Bits rounded = bits + 0x7fff + (bits >> 16 & 1);
        const Halves halves = __builtin_convertvector(((rounded & ~is_nan) | ((bits | 0x400000) & is_nan)) >> 16, Halves);
        memcpy(at, &halves, sizeof halves);
    }
}

/* One row or column each; the points are 0, 1, -1, 2, -2 and infinity. */
static INLINE void input_numbers(const V *d, V *n) {
    const V a = d[4] - 4 * d[2], b = d[3] - 4 * d[1], c = d[4] - d[2], e = 2 * (d[3] - d[1]);
    n[0] = 4 * d[0] - 5 * d[2] + d[4];
    n[1] = a + b;
    n[2] = a - b;
    n[3] = c + e;
    n[4] = c - e;
    n[5] = 4 * d[1] - 5 * d[3] + d[5];
}
static INLINE void outputs(const V *n, V *y) {
    const V a = n[1] + n[2], b = n[1] - n[2], c = n[3] + n[4], e = n[3] - n[4];
    y[0] = n[0] + a + c;
    y[1] = b + 2 * e;
    y[2] = a + 4 * c;
    y[3] = b + 8 * e + n[5];
}
static INLINE void gradient_numbers(const V *g, V *n) { /* the transpose of `outputs` */
    const V a = g[0] + g[2], b = g[1] + g[3], c = g[0] + 4 * g[2], e = 2 * g[1] + 8 * g[3];
    n[0] = g[0];
    n[1] = a + b;
    n[2] = a - b;
    n[3] = c + e;
    n[4] = c - e;
    n[5] = g[3];
}

typedef struct { int64_t picture, row, column; } Corner;

static INLINE Corner corner_of(const Job *job, int64_t patch) { /* of its outputs */
    const int64_t across = whole(job->width, SIDE), down = whole(job->height, SIDE);
    const Corner corner = {patch / (across * down), patch / across % down * SIDE, patch % across * SIDE};
    return corner;
}

/* Where the side x side pixels from (row, column) lie in a tensor of so many bytes a pixel; `outside` stands for the rest. */
static INLINE void find_pixels(const Job *job, const char *x, Corner from, const int side, int64_t bytes, const void *outside,
                               const char **at) {
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            const int64_t row = from.row + i, column = from.column + j;
            const int is_inside = row >= 0 && row < job->height && column >= 0 && column < job->width;
            const int64_t pixel = (from.picture * job->height + row) * job->width + column;
            at[i * side + j] = is_inside ? x + pixel * bytes : outside;
        }
}

/* Asks for a share of the four rows that begin `below` a patch: the next row of patches finds them in the cache. They may
 * lie beyond the end of the tensor, which only costs the request. */
static INLINE void fetch(const Job *job, const void *x, Corner at, int64_t below, int64_t bytes, const int to_write) {
    const int64_t pixel = (at.picture * job->height + at.row + below) * job->width + at.column * SIDE;
    const uintptr_t from = (uintptr_t)x + (uintptr_t)(pixel * bytes);
    for (uintptr_t i = 0; i < SIDE * SIDE * (uintptr_t)bytes; i += 64) {
        if (to_write) __builtin_prefetch((const void *)(from + i), 1);
        else __builtin_prefetch((const void *)(from + i), 0);
    }
}

/* The 36 numbers of each patch: of the inputs (side 6, which begin one pixel before the outputs) or of a gradient (side 4). */
static INLINE void write_numbers(const Job *job, const void *x, const int size, const int side, int64_t channels, int64_t first,
                                 int64_t count, const float *zeros, float *to) {
    const int64_t stride = apart(job, channels);
    for (int64_t t = 0; t < count; t++, to += channels) {
        const char *at[PLACES];
        Corner from = corner_of(job, first + t);
        if (side == PATCH) from.row--, from.column--;
        find_pixels(job, x, from, side, channels * size, zeros, at);
        fetch(job, x, corner_of(job, first + t), SIDE + 1, channels * size, 0);
        for (int64_t c = 0; c < channels; c += LANES) {
            V half[PATCH][PATCH], line[PATCH];
            UNROLL
            for (int j = 0; j < side; j++) {
                V column[PATCH];
                UNROLL
                for (int i = 0; i < side; i++) column[i] = load_channels(at[i * side + j] + c * size, size);
                if (side == PATCH) input_numbers(column, line); else gradient_numbers(column, line);
                UNROLL
                for (int i = 0; i < PATCH; i++) half[i][j] = line[i];
            }
            UNROLL
            for (int i = 0; i < PATCH; i++) {
                if (side == PATCH) input_numbers(half[i], line); else gradient_numbers(half[i], line);
                UNROLL
                for (int j = 0; j < PATCH; j++) store(to + (i * PATCH + j) * stride + c, line[j]);
            }
        }
    }
}

static INLINE void write_outputs(const Job *job, const int size, const float *products, int64_t first, int64_t count) {
    const int64_t stride = apart(job, job->out);
    for (int64_t t = 0; t < count; t++, products += job->out) {
        const Corner to = corner_of(job, first + t);
        const int64_t rows = job->height - to.row, columns = job->width - to.column;
        fetch(job, job->result, to, SIDE, job->out * size, 1);
        char *y = (char *)job->result + ((to.picture * job->height + to.row) * job->width + to.column) * job->out * size;
        for (int64_t c = 0; c < job->out; c += LANES) {
            V half[SIDE][PATCH], line[PATCH], done[SIDE];
            UNROLL
            for (int j = 0; j < PATCH; j++) {
                UNROLL
                for (int i = 0; i < PATCH; i++) line[i] = load(products + (i * PATCH + j) * stride + c);
                outputs(line, done);
                UNROLL
                for (int i = 0; i < SIDE; i++) half[i][j] = done[i];
            }
            for (int i = 0; i < SIDE && i < rows; i++) {
                outputs(half[i], done);
                for (int j = 0; j < SIDE && j < columns; j++)
                    store_channels(y + ((i * job->width + j) * job->out + c) * size, done[j], size);
            }
        }
    }
}

/* products[patch] = numbers[patch] times the filters', a panel of 16 outputs after the other; whole groups of rows. */
static INLINE void multiply(const float *numbers, const float *filters, float *products, int64_t patches, int64_t in, int64_t out) {
    for (int64_t panel = 0; panel < out; panel += PANEL, filters += in * PANEL)
        for (int64_t t = 0; t < patches; t += ROWS) {
            V sum[ROWS][2] = {{{0}}};
            const float *n = numbers + t * in;
            for (int64_t k = 0; k < in; k++) {
                const V a = load(filters + k * PANEL), b = load(filters + k * PANEL + LANES);
                UNROLL
                for (int r = 0; r < ROWS; r++) {
                    sum[r][0] += n[r * in + k] * a;
                    sum[r][1] += n[r * in + k] * b;
                }
            }
            UNROLL
            for (int r = 0; r < ROWS; r++) {
                float *to = products + (t + r) * out + panel;
                store(to, sum[r][0]);
                store(to + LANES, sum[r][1]);
            }
        }
}

enum { FILTER_ROWS = 4 };

/* gradient[i][o] += sum over the patches of numbers[patch][i] * of_outputs[patch][o] */
static INLINE void add_products(const float *numbers, const float *of_outputs, float *gradient, int64_t patches, int64_t in,
                                int64_t out) {
    for (int64_t panel = 0; panel < out; panel += PANEL)
        for (int64_t i = 0; i < in; i += FILTER_ROWS) {
            V sum[FILTER_ROWS][2];
            UNROLL
            for (int r = 0; r < FILTER_ROWS; r++) {
                sum[r][0] = load(gradient + (i + r) * out + panel);
                sum[r][1] = load(gradient + (i + r) * out + panel + LANES);
            }
            for (int64_t t = 0; t < patches; t++) {
                const float *n = numbers + t * in + i, *g = of_outputs + t * out + panel;
                const V a = load(g), b = load(g + LANES);
                UNROLL
                for (int r = 0; r < FILTER_ROWS; r++) {
                    sum[r][0] += n[r] * a;
                    sum[r][1] += n[r] * b;
                }
            }
            UNROLL
            for (int r = 0; r < FILTER_ROWS; r++) {
                store(gradient + (i + r) * out + panel, sum[r][0]);
                store(gradient + (i + r) * out + panel + LANES, sum[r][1]);
            }
        }
}

/* Parts begin ... end - 1 of the work: every part takes its share of the patches, block by block. */
static INLINE void each_block(int64_t begin, int64_t end, const Job *job, const int is_gradient, const int size) {
    const int64_t in = job->in, out = job->out, inputs_apart = apart(job, in), outputs_apart = apart(job, out);
    const int64_t all = patches_of(job), block = block_of(job);
    for (int64_t part = begin; part < end; part++) {
        float *numbers = job->scratch + part * scratch_floats(job), *products = numbers + PLACES * inputs_apart;
        float *zeros = products + PLACES * outputs_apart, *gradient = (float *)job->result + part * PLACES * in * out;
        memset(zeros, 0, (size_t)larger(in, out) * sizeof *zeros);
        if (is_gradient) memset(gradient, 0, (size_t)(PLACES * in * out) * sizeof *gradient);
        const int64_t last = all * (part + 1) / job->parts;
        for (int64_t first = all * part / job->parts; first < last; first += block) {
            const int64_t count = smaller(block, last - first), rows = whole(count, ROWS) * ROWS;
            write_numbers(job, job->x, size, PATCH, in, first, count, zeros, numbers);
            if (is_gradient) write_numbers(job, job->other, size, SIDE, out, first, count, zeros, products);
            for (int64_t place = 0; place < PLACES; place++) {
                float *n = numbers + place * inputs_apart, *p = products + place * outputs_apart;
                if (is_gradient) {
                    add_products(n, p, gradient + place * in * out, count, in, out);
                } else {
                    /* Rows beyond the last patch are multiplied, too, and thrown away. */
                    memset(n + count * in, 0, (size_t)((rows - count) * in) * sizeof *n);
                    multiply(n, (const float *)job->other + place * in * out, p, rows, in, out);
                }
            }
            if (!is_gradient) write_outputs(job, size, products, first, count);
        }
    }
}

static void convolve(int64_t begin, int64_t end, void *job) { each_block(begin, end, job, 0, 4); }
static void filter_gradient(int64_t begin, int64_t end, void *job) { each_block(begin, end, job, 1, 4); }
static void convolve_half(int64_t begin, int64_t end, void *job) { each_block(begin, end, job, 0, 2); }
static void filter_gradient_half(int64_t begin, int64_t end, void *job) { each_block(begin, end, job, 1, 2); }

#if defined(__x86_64__) && defined(__clang__)
#pragma clang attribute pop
#elif defined(__x86_64__)
#pragma GCC pop_options
#endif

static int runs_here(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0; /* vectors of 32 bytes would be slow, and nothing else was measured */
#endif
}
