/* The kernel on its own, on buffers of exactly the size it may touch: built with AddressSanitizer and UBSan by
 * tests/test_c_sanitizers.py. Small integers: direct sums are exact, the kernel's are wrong by less than a half. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../proxact/kernels/winograd_kernel.h"

static const double POINTS[6][3] = {{1 / 4., 0, 0},          {-1 / 6., -1 / 6., -1 / 6.}, {-1 / 6., 1 / 6., -1 / 6.},
                                    {1 / 24., 1 / 12., 1 / 6.}, {1 / 24., -1 / 12., 1 / 6.}, {0, 0, 1}};

static float *numbers_up_to(int64_t count, int most) {
    float *x = malloc((size_t)count * sizeof *x);
    for (int64_t i = 0; i < count; i++) x[i] = (float)(rand() % (2 * most + 1) - most);
    return x;
}

static uint16_t *upper_halves(const float *x, int64_t count) { /* small integers have nothing below them */
    uint16_t *halves = malloc((size_t)count * sizeof *halves);
    for (int64_t i = 0; i < count; i++) halves[i] = (uint16_t)(((const uint32_t *)x)[i] >> 16);
    return halves;
}

static float as_float(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* From the same pictures as bfloat16: outputs wrong by less than a rounding, the gradient the same. */
static int check_half(Job job, const float *x, const float *g, const float *y, const float *gradient) {
    const int64_t pixels = job.pictures * job.height * job.width, many = job.parts * 36 * job.in * job.out;
    uint16_t *halves = upper_halves(x, pixels * job.in), *g_halves = upper_halves(g, pixels * job.out);
    uint16_t *outputs = malloc((size_t)(pixels * job.out) * 2);
    float *slope = malloc((size_t)many * 4);
    job.x = halves, job.result = outputs;
    convolve_half(0, job.parts, &job);
    job.other = g_halves, job.result = slope;
    filter_gradient_half(0, job.parts, &job);
    int wrong = memcmp(slope, gradient, (size_t)many * 4) != 0;
    for (int64_t i = 0; i < pixels * job.out; i++) wrong += !(fabs(as_float(outputs[i]) - y[i]) <= ldexp(fabs(y[i]), -8));
    free(halves), free(g_halves), free(outputs), free(slope);
    return wrong;
}

static double coefficient(int place, int tap) { return POINTS[place / 6][tap / 3] * POINTS[place % 6][tap % 3]; }

static int check(int64_t pictures, int64_t height, int64_t width, int64_t in, int64_t out, int64_t parts) {
    const int64_t pixels = pictures * height * width, filters = in * out;
    float *x = numbers_up_to(pixels * in, 3), *w = numbers_up_to(filters * 9, 3), *g = numbers_up_to(pixels * out, 3);
    float *numbers = malloc((size_t)(36 * filters) * 4), *y = malloc((size_t)(pixels * out) * 4);
    float *gradient = malloc((size_t)(parts * 36 * filters) * 4);
    for (int place = 0; place < 36; place++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t o = 0; o < out; o++) {
                double sum = 0;
                for (int tap = 0; tap < 9; tap++) sum += coefficient(place, tap) * w[(o * in + i) * 9 + tap];
                numbers[((place * (out / 16) + o / 16) * in + i) * 16 + o % 16] = (float)sum;
            }
    Job job = {x, numbers, y, NULL, pictures, height, width, in, out, parts};
    float *scratch = job.scratch = malloc((size_t)(parts * scratch_floats(&job)) * 4);
    convolve(0, parts, &job);
    job.other = g, job.result = gradient;
    filter_gradient(0, parts, &job);
    job.other = numbers;
    int wrong = check_half(job, x, g, y, gradient);

    double *slope = calloc((size_t)(filters * 9), sizeof *slope);
    for (int64_t p = 0; p < pixels; p++)
        for (int64_t o = 0; o < out; o++) {
            double sum = 0;
            for (int tap = 0; tap < 9; tap++) {
                const int64_t row = p / width % height + tap / 3 - 1, column = p % width + tap % 3 - 1;
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                const float *from = x + (p + (tap / 3 - 1) * width + tap % 3 - 1) * in;
                for (int64_t i = 0; i < in; i++) {
                    sum += from[i] * w[(o * in + i) * 9 + tap];
                    slope[(o * in + i) * 9 + tap] += from[i] * g[p * out + o];
                }
            }
            wrong += !(fabs(y[p * out + o] - sum) < 0.5);
        }
    for (int64_t f = 0; f < filters; f++)
        for (int tap = 0; tap < 9; tap++) {
            double sum = 0;
            for (int64_t part = 0; part < parts; part++)
                for (int place = 0; place < 36; place++)
                    sum += coefficient(place, tap) * gradient[((part * 36 + place) * in + f % in) * out + f / in];
            wrong += !(fabs(sum - slope[f * 9 + tap]) < 0.5);
        }
    free(x), free(w), free(g), free(numbers), free(y), free(gradient), free(scratch), free(slope);
    if (wrong) printf("%ld x %ld x %ld, %ld to %ld, %ld parts: %d\n", (long)pictures, (long)height, (long)width, (long)in, (long)out, (long)parts, wrong);
    return wrong != 0;
}

int main(void) {
    const int64_t sides[] = {1, 2, 3, 4, 5, 6, 8, 9};
    int failures = 0, cases = 0;
    if (!runs_here()) return printf("0 cases, 0 failures (needs AVX2)\n"), 0;
    for (int h = 0; h < 8; h++)
        for (int w = 0; w < 8; w++)
            for (int64_t parts = 1; parts <= 3; parts += 2, cases++)
                failures += check(3, sides[h], sides[w], w % 2 ? 16 : 32, h % 2 ? 16 : 48, parts);
    for (int64_t parts = 1; parts <= 2; parts++, cases++) failures += check(31, 5, 3, 80, 64, parts); /* several blocks */
    printf("%d cases, %d failures\n", cases, failures);
    return failures != 0;
}
