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

static INLINE int SUFFIX(any)(M mask) {
#if defined(__AVX__)
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
    int found = 0;
    for (int i = 0; i < LANES; i++) found |= mask[i] != 0;
    return found;
#endif
}

typedef struct {
    V cos, sin, wide, narrow;
    T root_m, inverse_root_m, inverse_m, keep, leak; /* keep = 1 - leak */
    T smallest, largest;                             /* sums of squares that the fast formulas take */
    T no_squares;                                    /* below it a sum of squares counts as 0: x is on the axis */
} SUFFIX(Coefficients);

/* m = 2, with no square root: the cone's edge nearest to x is (wide, narrow) on the (larger, smaller) entry. */
typedef struct {
    V edge0, edge1, p, q;
    M first, inside, vanish;
} SUFFIX(Wedge);

static INLINE SUFFIX(Wedge) SUFFIX(locate2)(const V *x, const SUFFIX(Coefficients) * k) {
    SUFFIX(Wedge) w;
    V zero = {0};
    w.first = x[0] >= x[1];
    V high = SUFFIX(choose)(w.first, x[0], x[1]), low = SUFFIX(choose)(w.first, x[1], x[0]);
    V narrow_high = k->narrow * high, wide_low = k->wide * low;
    w.edge0 = SUFFIX(choose)(w.first, k->wide, k->narrow), w.edge1 = SUFFIX(choose)(w.first, k->narrow, k->wide);
    w.p = k->wide * high + k->narrow * low;
    w.q = narrow_high - wide_low;
    w.inside = wide_low > narrow_high;
    w.vanish = w.p <= zero;
    return w;
}

/* Groups for which these formulas cannot be trusted: nan, infinities, results near the end of the range. */
static INLINE M SUFFIX(unfit2)(const V *x, const SUFFIX(Coefficients) * k) {
    return ~(SUFFIX(magnitude)(x[0]) + SUFFIX(magnitude)(x[1]) <= SUFFIX(splat)(k->largest));
}

static INLINE M SUFFIX(forward2)(const V *x, V *y, const SUFFIX(Coefficients) * k) {
    SUFFIX(Wedge) w = SUFFIX(locate2)(x, k);
    V zero = {0}, p = k->keep * SUFFIX(choose)(w.vanish, zero, w.p);
    y[0] = SUFFIX(choose)(w.inside, x[0], w.edge0 * p + k->leak * x[0]);
    y[1] = SUFFIX(choose)(w.inside, x[1], w.edge1 * p + k->leak * x[1]);
    return SUFFIX(unfit2)(x, k);
}

/* dx, and each group's derivative by alpha (without the factor keep). */
static INLINE M SUFFIX(backward2)(const V *x, const V *g, V *dx, V *by_angle, const SUFFIX(Coefficients) * k) {
    SUFFIX(Wedge) w = SUFFIX(locate2)(x, k);
    V zero = {0};
    V along = SUFFIX(choose)(w.vanish, zero, w.edge0 * g[0] + w.edge1 * g[1]);
    V across = w.edge1 * g[0] - w.edge0 * g[1]; /* of the edge turned by a right angle, up to the order of x */
    across = SUFFIX(choose)(w.first, across, -across);
    *by_angle = SUFFIX(choose)(w.inside | w.vanish, zero, w.q * along + w.p * across);
    along *= k->keep;
    dx[0] = SUFFIX(choose)(w.inside, g[0], w.edge0 * along + k->leak * g[0]);
    dx[1] = SUFFIX(choose)(w.inside, g[1], w.edge1 * along + k->leak * g[1]);
    return SUFFIX(unfit2)(x, k);
}

/* What forward and backward share for m >= 3: mean, h = x - mean, its norm n and 1/n. */
typedef struct {
    V mean, n, inverse_n, p;
    M inside, vanish, unfit;
} SUFFIX(Round);

static INLINE SUFFIX(Round) SUFFIX(locate)(V sum, V squares, const SUFFIX(Coefficients) * k) {
    SUFFIX(Round) r;
    V zero = {0}, one = SUFFIX(splat)(1);
    r.mean = sum * k->inverse_m;
    V t = r.mean * k->root_m, all_squares = squares + sum * r.mean;
    M on_axis = squares < SUFFIX(splat)(k->no_squares);
    r.inverse_n = SUFFIX(inverse_root)(SUFFIX(choose)(on_axis, one, squares));
    r.n = SUFFIX(choose)(on_axis, zero, squares * r.inverse_n);
    r.p = t * k->cos + r.n * k->sin;
    r.vanish = r.p <= zero;
    r.inside = r.n * k->cos < t * k->sin;
    r.unfit = ~((all_squares >= SUFFIX(splat)(k->smallest)) & (all_squares <= SUFFIX(splat)(k->largest)));
    return r;
}

/* Of the groups whose squares are too small, those that are exactly 0 are fine. */
static INLINE M SUFFIX(not_zero)(const int m, const V *x) {
    V any = {0};
    UNROLL
    for (int j = 0; j < m; j++) any = (V)((M)any | (M)SUFFIX(magnitude)(x[j]));
    return (M)any != 0;
}

static INLINE M SUFFIX(forward_m)(const int m, const V *x, V *y, const SUFFIX(Coefficients) * k) {
    V sum = {0}, squares = {0}, zero = {0};
    UNROLL
    for (int j = 0; j < m; j++) sum += x[j];
    V mean = sum * k->inverse_m;
    UNROLL
    for (int j = 0; j < m; j++) squares += (x[j] - mean) * (x[j] - mean);
    SUFFIX(Round) r = SUFFIX(locate)(sum, squares, k);
    /* outside, leak included: level + slope h */
    V p = k->keep * SUFFIX(choose)(r.vanish, zero, r.p);
    V level = p * k->cos * k->inverse_root_m + k->leak * mean, slope = p * k->sin * r.inverse_n + k->leak;
    UNROLL
    for (int j = 0; j < m; j++) y[j] = SUFFIX(choose)(r.inside, x[j], level + slope * (x[j] - mean));
    return r.unfit;
}

static INLINE M SUFFIX(backward_m)(const int m, const V *x, const V *g, V *dx, V *by_angle,
                                   const SUFFIX(Coefficients) * k) {
    V sum = {0}, squares = {0}, g_sum = {0}, g_h = {0}, zero = {0}, one = SUFFIX(splat)(1);
    UNROLL
    for (int j = 0; j < m; j++) sum += x[j], g_sum += g[j];
    V mean = sum * k->inverse_m;
    UNROLL
    for (int j = 0; j < m; j++) {
        V h = x[j] - mean;
        squares += h * h;
        g_h += g[j] * h;
    }
    SUFFIX(Round) r = SUFFIX(locate)(sum, squares, k);
    V g_axis = g_sum * k->inverse_root_m, g_radial = g_h * r.inverse_n;
    V along = k->cos * g_axis + k->sin * g_radial, across = k->cos * g_radial - k->sin * g_axis;
    V q = k->cos * r.n - k->sin * mean * k->root_m;
    *by_angle = SUFFIX(choose)(r.inside | r.vanish, zero, q * along + r.p * across);
    /* dx = along u + curl (g - g_axis e - g_radial h/n), gathered by what multiplies 1, h and g */
    along = SUFFIX(choose)(r.vanish, zero, along);
    V curl = SUFFIX(choose)(r.vanish, zero, r.p) * k->sin * r.inverse_n;
    V level = along * k->cos * k->inverse_root_m - curl * g_sum * k->inverse_m;
    V slope = (along * k->sin - curl * g_radial) * r.inverse_n;
    level = SUFFIX(choose)(r.inside, zero, k->keep * level);
    slope = SUFFIX(choose)(r.inside, zero, k->keep * slope);
    curl = SUFFIX(choose)(r.inside, one, k->keep * curl + k->leak);
    UNROLL
    for (int j = 0; j < m; j++) dx[j] = level + slope * (x[j] - mean) + curl * g[j];
    return r.unfit;
}
