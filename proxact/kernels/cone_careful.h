/* Plain scalar code: one group at a time where the fast formulas do not reach, and float16 without hardware for it. */

/* ---- one group, in double, for any finite or infinite numbers: the reference formula step by step ---- */

#define INFINITE_ENTRY 1073741824.0 /* 2^30, as in _vectors.py */

static double bounded_copy(int m, const double *x, double *z, int *infinite) {
    double scale = 0;
    *infinite = 0;
    for (int j = 0; j < m; j++) {
        double size = fabs(x[j]);
        if (isinf(size)) *infinite = 1;
        else if (size > scale) scale = size;
    }
    if (scale == 0 || (m == 2 && !*infinite)) scale = 1;
    for (int j = 0; j < m; j++) z[j] = isinf(x[j]) ? copysign(INFINITE_ENTRY, x[j]) : x[j] / scale;
    return scale;
}

static void careful_forward(int m, const double *x, double *y, const Angle *a, const Leak *leak) {
    int infinite, inside;
    double *z = y, scale = bounded_copy(m, x, z, &infinite);
    if (m == 2) {
        int first = z[0] >= z[1];
        double high = first ? z[0] : z[1], low = first ? z[1] : z[0];
        inside = a->wide * low > a->narrow * high;
        double on_high = a->wide * a->wide * high + a->wide * a->narrow * low;
        double on_low = a->wide * a->narrow * high + a->narrow * a->narrow * low;
        if (a->wide * high + a->narrow * low <= 0) on_high = on_low = 0;
        z[0] = first ? on_high : on_low, z[1] = first ? on_low : on_high;
    } else {
        double sum = 0, squares = 0;
        for (int j = 0; j < m; j++) sum += z[j];
        double mean = sum / m, t = mean * sqrt(m);
        for (int j = 0; j < m; j++) squares += (z[j] - mean) * (z[j] - mean);
        double n = sqrt(squares), p = t * a->cos + n * a->sin;
        inside = n * a->cos < t * a->sin;
        for (int j = 0; j < m; j++)
            z[j] = p <= 0 ? 0 : p * a->cos / sqrt(m) + p * a->sin / (n == 0 ? 1 : n) * (z[j] - mean);
    }
    for (int j = 0; j < m; j++) {
        double projected = z[j] * scale;
        if (infinite && fabs(z[j]) > sqrt(INFINITE_ENTRY)) projected = copysign(INFINITY, z[j]);
        if (inside) projected = x[j];
        y[j] = leak->leak ? leak->keep * projected + leak->leak * x[j] : projected;
    }
}

static void careful_backward(int m, const double *x, const double *g, double *dx, double *by_angle, const Angle *a,
                             const Leak *leak) {
    int infinite, inside;
    double *z = dx, scale = bounded_copy(m, x, z, &infinite);
    *by_angle = 0;
    if (m == 2) {
        int first = z[0] >= z[1];
        double high = first ? z[0] : z[1], low = first ? z[1] : z[0];
        double g_high = first ? g[0] : g[1], g_low = first ? g[1] : g[0];
        double p = a->wide * high + a->narrow * low, q = a->narrow * high - a->wide * low;
        double along = a->wide * g_high + a->narrow * g_low, across = a->narrow * g_high - a->wide * g_low;
        inside = a->wide * low > a->narrow * high;
        if (p <= 0) along = across = 0;
        if (!inside) *by_angle = scale * (q * along + p * across);
        z[0] = (first ? a->wide : a->narrow) * along, z[1] = (first ? a->narrow : a->wide) * along;
    } else {
        double sum = 0, squares = 0, g_sum = 0, g_h = 0, root = sqrt(m);
        for (int j = 0; j < m; j++) sum += z[j], g_sum += g[j];
        double mean = sum / m, t = mean * root;
        for (int j = 0; j < m; j++) squares += (z[j] - mean) * (z[j] - mean), g_h += g[j] * (z[j] - mean);
        double n = sqrt(squares), divisor = n == 0 ? 1 : n, p = t * a->cos + n * a->sin;
        double g_axis = g_sum / root, g_radial = g_h / divisor;
        double along = a->cos * g_axis + a->sin * g_radial, across = a->cos * g_radial - a->sin * g_axis;
        double curl = p * a->sin / divisor;
        inside = n * a->cos < t * a->sin;
        if (!inside && !(p <= 0)) *by_angle = scale * ((a->cos * n - a->sin * t) * along + p * across);
        for (int j = 0; j < m; j++) {
            double h = (z[j] - mean) / divisor;
            z[j] = p <= 0 ? 0 : along * (a->cos / root + a->sin * h) + curl * (g[j] - g_axis / root - g_radial * h);
        }
    }
    for (int j = 0; j < m; j++) {
        double projected = inside ? g[j] : isinf(x[j]) ? 0 : z[j];
        dx[j] = leak->keep * projected + leak->leak * g[j];
    }
}

/* ---- float16 without hardware for it ---- */

static inline float float_from_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
    float magnitude;
    uint32_t bits = rest << 13;
    memcpy(&magnitude, &bits, 4);
    magnitude *= 0x1p112f;                                   /* moves the exponent; exact for subnormals too */
    memcpy(&bits, &magnitude, 4);
    if (rest >= 0x7c00) bits |= 0x7f800000;                  /* inf and nan */
    bits |= sign;
    memcpy(&magnitude, &bits, 4);
    return magnitude;
}

static inline uint16_t half_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return sign | 0x7e00;
    if (bits >= 0x47800000) return sign | 0x7c00;            /* 65536 and above */
    if (bits < 0x38800000) {                                 /* below 2^-14: adding 1/2 aligns and rounds the bits */
        float magnitude;
        memcpy(&magnitude, &bits, 4);
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, 4);
        return sign | (uint16_t)(bits - 0x3f000000);
    }
    bits += 0xc8000fff + ((bits >> 13) & 1);
    return sign | (uint16_t)(bits >> 13);
}
