/* The projection of LANES groups at once, one vector per member. Included once for each instruction set and number type.
 *
 * Expects the macros T (number), V (vector of T), M (vector of same-sized integers), LANES, SUFFIX(name).
 * Names follow proxact/project/cone.py: wide, narrow are the wedge's edge (m = 2), cos, sin those of alpha. */

static INLINE V SUFFIX(splat)(T value) { return value - (V){0}; }
static INLINE V SUFFIX(choose)(M mask, V yes, V no) {
#if defined(__AVX__)
    return BLEND_AVX(mask, yes, no);
#else
    return (V)(((M)yes & mask) | ((M)no & ~mask));
#endif
}
static INLINE V SUFFIX(where)(M mask, V value) { return (V)((M)value & mask); }

/* Of a and b; where one is nan, either: such groups are redone anyway. */
static INLINE V SUFFIX(larger)(V a, V b) {
#if defined(__AVX__)
    return LARGER_AVX(a, b);
#else
    return SUFFIX(choose)(a > b, a, b);
#endif
}
static INLINE V SUFFIX(smaller)(V a, V b) {
#if defined(__AVX__)
    return SMALLER_AVX(a, b);
#else
    return SUFFIX(choose)(a < b, a, b);
#endif
}
static INLINE V SUFFIX(magnitude)(V x) { return (V)((M)x & ~(M)SUFFIX(splat)((T)-0.0)); }

/* 1 / sqrt(x) for x > 0 */
static INLINE V SUFFIX(inverse_root)(V x) {
#if defined(__AVX__)
    return INVERSE_ROOT_AVX(x);
#else
    for (int i = 0; i < LANES; i++) x[i] = 1 / SQRT(x[i]);
    return x;
#endif
}

static INLINE int SUFFIX(all)(M mask) {
#if defined(__AVX__)
    return _mm256_testc_si256((__m256i)mask, (__m256i)((M){0} == 0));
#else
    int found = 1;
    for (int i = 0; i < LANES; i++) found &= mask[i] != 0;
    return found;
#endif
}

static INLINE double SUFFIX(total)(V x) {
    double sum = 0;
    UNROLL
    for (int i = 0; i < LANES; i++) sum += x[i];
    return sum;
}

typedef struct {
    V cos, sin, wide, narrow;
    T inverse_root_m, inverse_m, keep, leak; /* keep = 1 - leak */
    T smallest, largest;                     /* sums of squares that the fast formulas take */
    T no_squares;                            /* below it a sum of squares counts as 0: x is on the axis */
} SUFFIX(Coefficients);

/* m = 2, with no square root: the cone's edge nearest to x is (wide, narrow) on the (larger, smaller) entry. */
typedef struct {
    V p, q; /* along the edge and across it, outwards */
    M first, inside;
} SUFFIX(Wedge);

static INLINE SUFFIX(Wedge) SUFFIX(locate2)(const V *x, const SUFFIX(Coefficients) * k) {
    SUFFIX(Wedge) w;
    V high = SUFFIX(larger)(x[0], x[1]), low = SUFFIX(smaller)(x[0], x[1]);
    V narrow_high = k->narrow * high, wide_low = k->wide * low;
    w.first = x[0] >= x[1];
    w.p = k->wide * high + k->narrow * low;
    w.q = narrow_high - wide_low;
    w.inside = wide_low > narrow_high;
    return w;
}

/* Groups for which these formulas can be trusted: no nan, no infinities, no results near the end of the range. */
static INLINE M SUFFIX(fit2)(const V *x, const SUFFIX(Coefficients) * k) {
    return SUFFIX(magnitude)(x[0]) + SUFFIX(magnitude)(x[1]) <= SUFFIX(splat)(k->largest);
}

static INLINE M SUFFIX(forward2)(const V *x, V *y, const SUFFIX(Coefficients) * k) {
    SUFFIX(Wedge) w = SUFFIX(locate2)(x, k);
    V zero = {0}, p = SUFFIX(larger)(w.p, zero);
    V high = k->keep * k->wide * p, low = k->keep * k->narrow * p; /* keep * wide is taken out of the loop */
    y[0] = SUFFIX(choose)(w.inside, x[0], SUFFIX(choose)(w.first, high, low) + k->leak * x[0]);
    y[1] = SUFFIX(choose)(w.inside, x[1], SUFFIX(choose)(w.first, low, high) + k->leak * x[1]);
    return SUFFIX(fit2)(x, k);
}

/* dx, and each group's derivative by alpha (without the factor keep). */
static INLINE M SUFFIX(backward2)(const V *x, const V *g, V *dx, V *by_angle, const SUFFIX(Coefficients) * k) {
    SUFFIX(Wedge) w = SUFFIX(locate2)(x, k);
    V zero = {0};
    V g_high = SUFFIX(choose)(w.first, g[0], g[1]), g_low = SUFFIX(choose)(w.first, g[1], g[0]);
    V along = SUFFIX(where)(w.p > zero, k->wide * g_high + k->narrow * g_low);
    V across = k->narrow * g_high - k->wide * g_low;
    *by_angle = SUFFIX(where)(~w.inside, w.q * along + SUFFIX(larger)(w.p, zero) * across);
    V high = k->keep * k->wide * along, low = k->keep * k->narrow * along;
    dx[0] = SUFFIX(choose)(w.inside, g[0], SUFFIX(choose)(w.first, high, low) + k->leak * g[0]);
    dx[1] = SUFFIX(choose)(w.inside, g[1], SUFFIX(choose)(w.first, low, high) + k->leak * g[1]);
    return SUFFIX(fit2)(x, k);
}

/* What forward and backward share for m >= 3: h = x - mean has the norm n, P and Q are p/n and q/n. The chain from x to
 * the result is what limits the speed, so it is kept short: quotients by n need not wait for n. */
typedef struct {
    V t, n, inverse_n, P;
    M inside, fit;
} SUFFIX(Round);

static INLINE SUFFIX(Round) SUFFIX(locate)(V sum, V squares, V *Q, const SUFFIX(Coefficients) * k) {
    SUFFIX(Round) r;
    r.t = sum * k->inverse_root_m;
    V all_squares = squares + r.t * r.t;
    r.inverse_n = SUFFIX(inverse_root)(SUFFIX(larger)(squares, SUFFIX(splat)(k->no_squares)));
    r.n = squares * r.inverse_n;
    V steepness = r.t * r.inverse_n;
    r.P = steepness * k->cos + k->sin;
    *Q = k->cos - steepness * k->sin;
    r.inside = *Q < (V){0};
    r.fit = (all_squares >= SUFFIX(splat)(k->smallest)) & (all_squares <= SUFFIX(splat)(k->largest));
    return r;
}

/* Of the groups whose squares are too small, those that are exactly 0 are projected right. */
static INLINE M SUFFIX(is_zero)(const int m, const V *x) {
    V any = {0};
    UNROLL
    for (int j = 0; j < m; j++) any = (V)((M)any | (M)SUFFIX(magnitude)(x[j]));
    return (M)any == 0;
}

static INLINE M SUFFIX(forward_m)(const int m, const V *x, V *y, const SUFFIX(Coefficients) * k) {
    V sum = x[0], zero = {0}, Q;
    UNROLL
    for (int j = 1; j < m; j++) sum += x[j];
    V h = x[0] - sum * k->inverse_m, squares = h * h;
    UNROLL
    for (int j = 1; j < m; j++) {
        h = x[j] - sum * k->inverse_m;
        squares += h * h;
    }
    SUFFIX(Round) r = SUFFIX(locate)(sum, squares, &Q, k);
    /* outside, leak included: level + slope h */
    V p = SUFFIX(larger)(r.t * k->cos + r.n * k->sin, zero);
    V level = p * (k->keep * k->cos * k->inverse_root_m) + k->leak * (sum * k->inverse_m);
    V slope = SUFFIX(larger)(r.P, zero) * (k->keep * k->sin) + k->leak;
    UNROLL
    for (int j = 0; j < m; j++)
        y[j] = SUFFIX(choose)(r.inside, x[j], level + slope * (x[j] - sum * k->inverse_m));
    return r.fit;
}

static INLINE M SUFFIX(backward_m)(const int m, const V *x, const V *g, V *dx, V *by_angle,
                                   const SUFFIX(Coefficients) * k) {
    V sum = x[0], g_sum = g[0], zero = {0}, one = SUFFIX(splat)(1), Q;
    UNROLL
    for (int j = 1; j < m; j++) sum += x[j], g_sum += g[j];
    V h = x[0] - sum * k->inverse_m, squares = h * h, g_h = g[0] * h;
    UNROLL
    for (int j = 1; j < m; j++) {
        h = x[j] - sum * k->inverse_m;
        squares += h * h;
        g_h += g[j] * h;
    }
    SUFFIX(Round) r = SUFFIX(locate)(sum, squares, &Q, k);
    V g_axis = g_sum * k->inverse_root_m, g_radial = g_h * r.inverse_n, P = SUFFIX(larger)(r.P, zero);
    V along = SUFFIX(where)(r.P > zero, k->cos * g_axis + k->sin * g_radial);
    V across = k->cos * g_radial - k->sin * g_axis;
    *by_angle = SUFFIX(where)(~r.inside, r.n * (Q * along + P * across));
    /* dx = along u + curl (g - g_axis e - g_radial h/n), gathered by what multiplies 1, h and g */
    V curl = P * (k->keep * k->sin);
    V level = along * (k->keep * k->cos * k->inverse_root_m) - curl * (g_sum * k->inverse_m);
    V slope = (along * (k->keep * k->sin) - curl * g_radial) * r.inverse_n;
    level = SUFFIX(where)(~r.inside, level);
    slope = SUFFIX(where)(~r.inside, slope);
    curl = SUFFIX(choose)(r.inside, one, curl + k->leak);
    UNROLL
    for (int j = 0; j < m; j++) dx[j] = level + slope * (x[j] - sum * k->inverse_m) + curl * g[j];
    return r.fit;
}

static INLINE M SUFFIX(project)(const int m, const V *x, V *y, const SUFFIX(Coefficients) * k) {
    return m == 2 ? SUFFIX(forward2)(x, y, k) : SUFFIX(forward_m)(m, x, y, k);
}
static INLINE M SUFFIX(differentiate)(const int m, const V *x, const V *g, V *dx, V *by_angle,
                                      const SUFFIX(Coefficients) * k) {
    return m == 2 ? SUFFIX(backward2)(x, g, dx, by_angle, k) : SUFFIX(backward_m)(m, x, g, dx, by_angle, k);
}
