/* The kernel on its own, on buffers of exactly the size it may touch: built with AddressSanitizer and UBSan by
 * tests/test_c_sanitizers.py. Each number's place is counted anew. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../proxact/kernels/winners_kernel.h"

static int check(int64_t rows, int64_t channels, int64_t winners, int values) {
    const int64_t total = rows * channels;
    float *x = malloc((size_t)total * 4), *source = malloc((size_t)total * 4), *out = malloc((size_t)total * 4);
    for (int64_t i = 0; i < total; i++) x[i] = (float)(rand() % values - values / 2), source[i] = (float)(i + 1);
    if (values == 3) x[0] = INFINITY, x[total - 1] = -INFINITY;
    Job job = {x, source, out, channels, winners};
    select_rows(0, rows, &job);
    int wrong = 0;
    for (int64_t i = 0; i < total; i++) {
        int64_t first = i / channels * channels, place = 0;
        for (int64_t j = first; j < first + channels; j++) place += x[j] > x[i] || (x[j] == x[i] && j < i);
        wrong += out[i] != (place < winners ? source[i] : 0);
    }
    free(x), free(source), free(out);
    if (wrong) printf("rows=%ld channels=%ld winners=%ld values=%d: %d\n", (long)rows, (long)channels, (long)winners, values, wrong);
    return wrong != 0;
}

int main(void) {
    const int64_t channels[] = {1, 3, 8, 9, 16, 31, 32, 33, 64, 77, 4096};
    const int values[] = {1, 3, 20, 1000000};
    int failures = 0, cases = 0;
    if (!runs_here()) return printf("0 cases, 0 failures (needs AVX2)\n"), 0;
    for (int c = 0; c < 11; c++)
        for (int v = 0; v < 4; v++)
            for (int64_t part = 0; part <= 4; part++, cases++)
                failures += check(3, channels[c], 1 + (channels[c] - 1) * part / 4, values[v]);
    printf("%d cases, %d failures\n", cases, failures);
    return failures != 0;
}
