/* The kernel on its own, on buffers of exactly the size it may touch: built with AddressSanitizer and UBSan by
 * tests/test_c_sanitizers.py. Every layout is compared with the careful one-group formulas. */

#include <stdio.h>

#include "../../proxact/kernels/cone_kernel.h"

static double random_number(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 4503599627370496.0 - 1;
}

static int64_t position(int64_t o, int64_t c, int64_t i, int64_t channels, int64_t inner) {
    return (o * channels + c) * inner + i;
}

static int check(int m, int64_t outer, int64_t channels, int64_t inner, int split, int pad, int by_group, int baseline) {
    const int64_t total = outer * channels * inner;
    float *x = malloc((size_t)total * 4), *g = malloc((size_t)total * 4), *y = malloc((size_t)total * 4),
          *dx = malloc((size_t)total * 4);
    for (int64_t i = 0; i < total; i++) x[i] = (float)random_number(), g[i] = (float)random_number();
    const int64_t groups = pad ? (channels + m - 1) / m : channels / m;
    const int64_t angles = by_group && groups > 1 ? groups : 1;
    Angle *table = malloc((size_t)angles * sizeof *table);
    for (int64_t i = 0; i < angles; i++) {
        double theta = random_number() / 2;
        table[i] = (Angle){cos(M_PI_4 + theta), sin(M_PI_4 + theta), cos(theta), sin(-theta)};
    }
    double *sums = calloc((size_t)(CHUNKS * angles), sizeof *sums), worst = 0;
    for (int backward = 0; backward < 2; backward++) {
        Job job = {0};
        job.kernels = kernels_for(0, baseline);
        job.x = (char *)x, job.g = backward ? (char *)g : 0, job.out = (char *)(backward ? dx : y);
        job.outer = outer, job.channels = channels, job.inner = inner, job.m = m, job.split = split, job.pad = pad;
        job.angles = table, job.by_group = angles > 1, job.partial = sums, job.leak = (Leak){0.9, 0.1, 0};
        plan(&job);
        run_chunks(0, job.chunks, &job);
    }
    Leak leak = {0.9, 0.1, 0};
    double a[16], b[16], c[16], d[16], turn;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t group = 0; group < groups; group++)
            for (int64_t i = 0; i < inner; i++) {
                for (int j = 0; j < m; j++) {
                    int64_t channel = split ? j * groups + group : group * m + j;
                    int64_t at = position(o, channel, i, channels, inner);
                    a[j] = channel < channels ? x[at] : 0, b[j] = channel < channels ? g[at] : 0;
                }
                careful_forward(m, a, c, table + (angles > 1 ? group : 0), &leak);
                careful_backward(m, a, b, d, &turn, table + (angles > 1 ? group : 0), &leak);
                for (int j = 0; j < m; j++) {
                    int64_t channel = split ? j * groups + group : group * m + j;
                    if (channel >= channels) continue;
                    int64_t at = position(o, channel, i, channels, inner);
                    worst = fmax(worst, fmax(fabs(y[at] - c[j]), fabs(dx[at] - d[j]) / 8));
                }
            }
    free(x), free(g), free(y), free(dx), free(table), free(sums);
    if (worst > 2e-6) printf("m=%d outer=%ld channels=%ld inner=%ld split=%d pad=%d by_group=%d: %g\n", m, (long)outer,
                             (long)channels, (long)inner, split, pad, by_group, worst);
    return worst > 2e-6;
}

int main(void) {
    const int64_t shapes[][3] = {{5, 24, 1}, {37, 25, 1}, {9, 11, 1}, {3, 24, 35}, {2, 23, 16}, {1, 3, 7}, {4, 1, 1}, {2, 64, 1}};
    int failures = 0, cases = 0;
    for (int m = 1; m <= 11; m++)
        for (int s = 0; s < 8; s++)
            for (int bits = 0; bits < 16; bits++, cases++)
                failures += check(m, shapes[s][0], shapes[s][1], shapes[s][2], bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3);
    printf("%d cases, %d failures\n", cases, failures);
    return failures != 0;
}
