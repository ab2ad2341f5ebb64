/* Loops over memory for one storage type and one instruction set. Included by cone_isa.h.
 *
 * Expects, besides the macros of cone_math.h, S (stored type), LOOP(name), and the functions LOOP(widen)(const S *) and
 * LOOP(narrow_to)(S *, V) that load and store LANES numbers.
 *
 * A Span is a run of groups: lane i of member j lies at  j * member + i * lane.  Rows (channels of NCHW, split halves)
 * have lane = 1, interleaved groups (last axis, channels_last) have member = 1 and lane = m. */

static INLINE V LOOP(load)(const S *at, int64_t lane, int count) {
    if (lane == 1 && count == LANES) return LOOP(widen)(at);
    S few[LANES] = {0};
    for (int i = 0; i < count; i++) few[i] = at[i * lane];
    return LOOP(widen)(few);
}

static INLINE void LOOP(store)(S *at, int64_t lane, int count, V value) {
    if (lane == 1 && count == LANES) {
        LOOP(narrow_to)(at, value);
        return;
    }
    S few[LANES];
    LOOP(narrow_to)(few, value);
    for (int i = 0; i < count; i++) at[i * lane] = few[i];
}

/* Interleaved memory to one vector per member and back, in registers for m = 2, 3, 4, 8. The order of the groups among
 * the lanes is whatever is cheapest; gather and scatter agree on it. */
static INLINE void LOOP(gather)(const int m, const S *at, V *x) {
#if LANES == 8
    if (m == 2 || m == 3 || m == 4 || m == 8) {
        UNROLL
        for (int j = 0; j < m; j++) x[j] = LOOP(widen)(at + 8 * j);
        SUFFIX(unweave)(m, x);
        return;
    }
#endif
    UNROLL
    for (int j = 0; j < m; j++) x[j] = LOOP(load)(at + j, m, LANES);
}

static INLINE void LOOP(scatter)(const int m, S *at, V *y) {
#if LANES == 8
    if (m == 2 || m == 3 || m == 4 || m == 8) {
        SUFFIX(weave)(m, y);
        UNROLL
        for (int j = 0; j < m; j++) LOOP(narrow_to)(at + 8 * j, y[j]);
        return;
    }
#endif
    UNROLL
    for (int j = 0; j < m; j++) LOOP(store)(at + j, m, LANES, y[j]);
}

/* count == LANES, known where this is inlined, in the loops over whole vectors. */
static INLINE void LOOP(read)(const int m, const int woven, const int present, const int count, const S *at,
                              int64_t member, int64_t lane, V *x) {
    if (woven && count == LANES) {
        LOOP(gather)(m, at, x);
        return;
    }
    UNROLL
    for (int j = 0; j < m; j++) x[j] = j < present ? LOOP(load)(at + j * member, lane, count) : (V){0};
}

static INLINE void LOOP(write)(const int m, const int woven, const int present, const int count, S *at, int64_t member,
                               int64_t lane, V *y) {
    if (woven && count == LANES) {
        LOOP(scatter)(m, at, y);
        return;
    }
    UNROLL
    for (int j = 0; j < m; j++)
        if (j < present) LOOP(store)(at + j * member, lane, count, y[j]);
}

/* Which group is in which lane. */
static INLINE V LOOP(order)(const int m, const int woven) {
    V lanes[8];
    for (int j = 0; j < m; j++)
        for (int i = 0; i < LANES; i++) lanes[j][i] = (T)(woven ? (j * LANES + i) / m : i);
#if LANES == 8
    if (woven && (m == 2 || m == 3 || m == 4 || m == 8)) SUFFIX(unweave)(m, lanes);
    else
#endif
        for (int i = 0; i < LANES; i++) lanes[0][i] = (T)i;
    return lanes[0];
}

/* Redo single groups whose size is extreme or not finite, in double with scaling. */
static __attribute__((noinline)) void LOOP(rescue)(int m, M bad, const V *x, const V *g, V *out, V *by_angle,
                                                   const Angle *angle, int by_group, const Leak *leak) {
    if (m != 2) bad &= SUFFIX(not_zero)(m, x);
    if (!SUFFIX(any)(bad)) return;
    double *a = malloc(3 * (size_t)m * sizeof(double)), *b = a + m, *c = b + m;
    if (!a) return;
    for (int i = 0; i < LANES; i++) {
        if (!bad[i]) continue;
        double turn = 0;
        UNROLL
        for (int j = 0; j < m; j++) a[j] = x[j][i], b[j] = g ? g[j][i] : 0;
        if (g)
            careful_backward(m, a, b, c, &turn, angle + (by_group ? i : 0), leak);
        else
            careful_forward(m, a, c, angle + (by_group ? i : 0), leak);
        UNROLL
        for (int j = 0; j < m; j++) out[j][i] = (T)c[j];
        if (g) (*by_angle)[i] = (T)turn;
    }
    free(a);
}

/* One vector of groups. */
static INLINE void LOOP(forward_step)(const int m, const int woven, const int present, const int count, const S *x,
                                      S *y, int64_t member, int64_t lane, const SUFFIX(Coefficients) * k,
                                      const Angle *angle, int by_group, const Leak *leak, V *in, V *out) {
    LOOP(read)(m, woven, present, count, x, member, lane, in);
    M bad = m == 2 ? SUFFIX(forward2)(in, out, k) : SUFFIX(forward_m)(m, in, out, k);
    if (__builtin_expect(SUFFIX(any)(bad), 0)) LOOP(rescue)(m, bad, in, 0, out, 0, angle, by_group, leak);
    LOOP(write)(m, woven, present, count, y, member, lane, out);
}

static INLINE V LOOP(backward_step)(const int m, const int woven, const int present, const int count, const S *x,
                                    const S *g, S *dx, int64_t member, int64_t lane, const SUFFIX(Coefficients) * k,
                                    const Angle *angle, int by_group, const Leak *leak, V *in, V *given, V *out) {
    V turn;
    LOOP(read)(m, woven, present, count, x, member, lane, in);
    LOOP(read)(m, woven, present, count, g, member, lane, given);
    M bad = m == 2 ? SUFFIX(backward2)(in, given, out, &turn, k) : SUFFIX(backward_m)(m, in, given, out, &turn, k);
    if (__builtin_expect(SUFFIX(any)(bad), 0)) LOOP(rescue)(m, bad, in, given, out, &turn, angle, by_group, leak);
    LOOP(write)(m, woven, present, count, dx, member, lane, out);
    return turn;
}

/* At least one vector of whole groups, one angle; m and woven are known where this is inlined. */
static INLINE void LOOP(forward_fixed)(const int m, const int woven, const S *x, S *y, const Span *span,
                                       const Angle *angle, const Leak *leak) {
    const SUFFIX(Coefficients) k = *(const SUFFIX(Coefficients) *)leak->prepared;
    const int64_t groups = span->groups, member = woven ? 1 : span->member, lane = woven ? m : 1;
    V in[8], out[8];
    for (int64_t next = 0; next < groups; next += LANES) {
        const int64_t i = next + LANES <= groups ? next : groups - LANES; /* the last vector may overlap the one before */
        LOOP(forward_step)(m, woven, m, LANES, x + i * lane, y + i * lane, member, lane, &k, angle, 0, leak, in, out);
    }
}

static INLINE void LOOP(backward_fixed)(const int m, const int woven, const S *x, const S *g, S *dx, double *by_angle,
                                        const Span *span, const Angle *angle, const Leak *leak) {
    const SUFFIX(Coefficients) k = *(const SUFFIX(Coefficients) *)leak->prepared;
    const int64_t groups = span->groups, member = woven ? 1 : span->member, lane = woven ? m : 1;
    V in[8], given[8], out[8];
    int64_t i = 0;
    while (i < groups) {
        V turned = {0}; /* short sums in T, long ones in double */
        for (int64_t end = i + 64 * LANES; i < groups && i < end; i += LANES) {
            const int64_t overlap = i + LANES <= groups ? 0 : i + LANES - groups, at = (i - overlap) * lane;
            V turn = LOOP(backward_step)(m, woven, m, LANES, x + at, g + at, dx + at, member, lane, &k, angle, 0, leak,
                                         in, given, out);
            if (overlap) turn = SUFFIX(choose)(LOOP(order)(m, woven) < SUFFIX(splat)((T)overlap), (V){0}, turn);
            turned += turn;
        }
        for (int l = 0; l < LANES; l++) *by_angle += turned[l];
    }
}

/* Any m, members that are absent (padding), an angle for each group. */
static void LOOP(forward_any)(int m, const S *x, S *y, const Span *span, const Angle *angle, const Leak *leak) {
    V few[16], *room = m <= 8 ? few : aligned_alloc(32, 2 * (size_t)m * sizeof(V));
    if (!room) return;
    SUFFIX(Coefficients) k = *(const SUFFIX(Coefficients) *)leak->prepared;
    for (int64_t i = 0; i < span->groups; i += LANES) {
        int count = span->groups - i < LANES ? (int)(span->groups - i) : LANES;
        const Angle *here = span->by_group ? angle + i : angle;
        if (span->by_group) k = SUFFIX(coefficients)(m, here, 1, count, leak);
        LOOP(forward_step)(m, 0, span->present, count, x + i * span->lane, y + i * span->lane, span->member, span->lane,
                           &k, here, span->by_group, leak, room, room + m);
    }
    if (room != few) free(room);
}

static void LOOP(backward_any)(int m, const S *x, const S *g, S *dx, double *by_angle, const Span *span,
                               const Angle *angle, const Leak *leak) {
    V few[24], *room = m <= 8 ? few : aligned_alloc(32, 3 * (size_t)m * sizeof(V));
    if (!room) return;
    SUFFIX(Coefficients) k = *(const SUFFIX(Coefficients) *)leak->prepared;
    for (int64_t i = 0; i < span->groups; i += LANES) {
        int count = span->groups - i < LANES ? (int)(span->groups - i) : LANES;
        const Angle *here = span->by_group ? angle + i : angle;
        if (span->by_group) k = SUFFIX(coefficients)(m, here, 1, count, leak);
        V turn = LOOP(backward_step)(m, 0, span->present, count, x + i * span->lane, g + i * span->lane,
                                     dx + i * span->lane, span->member, span->lane, &k, here, span->by_group, leak,
                                     room, room + m, room + 2 * m);
        for (int l = 0; l < count; l++) by_angle[span->by_group ? i + l : 0] += turn[l];
    }
    if (room != few) free(room);
}

static void LOOP(forward)(int m, const void *x_, void *y_, const Span *span, const Angle *angle, const Leak *leak) {
    const S *x = x_;
    S *y = y_;
#if SPECIALISED
    const int woven = span->lane == m, known = woven || span->lane == 1;
    if (known && span->groups >= LANES && span->present == m && !span->by_group) switch (m) {
#define CASE(M_)                                                             \
    case M_:                                                                 \
        if (woven)                                                           \
            LOOP(forward_fixed)(M_, 1, x, y, span, angle, leak);             \
        else                                                                 \
            LOOP(forward_fixed)(M_, 0, x, y, span, angle, leak);             \
        return;
            CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#undef CASE
        }
#endif
    LOOP(forward_any)(m, x, y, span, angle, leak);
}

static void LOOP(backward)(int m, const void *x_, const void *g_, void *dx_, double *by_angle, const Span *span,
                           const Angle *angle, const Leak *leak) {
    const S *x = x_, *g = g_;
    S *dx = dx_;
#if SPECIALISED
    const int woven = span->lane == m, known = woven || span->lane == 1;
    if (known && span->groups >= LANES && span->present == m && !span->by_group) switch (m) {
#define CASE(M_)                                                                        \
    case M_:                                                                            \
        if (woven)                                                                      \
            LOOP(backward_fixed)(M_, 1, x, g, dx, by_angle, span, angle, leak);         \
        else                                                                            \
            LOOP(backward_fixed)(M_, 0, x, g, dx, by_angle, span, angle, leak);         \
        return;
            CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#undef CASE
        }
#endif
    LOOP(backward_any)(m, x, g, dx, by_angle, span, angle, leak);
}

/* Channels left over when remainder is "relu". */
static void LOOP(relu)(const void *x_, void *y_, int64_t count, const Leak *leak) {
    const S *x = x_;
    S *y = y_;
    for (int64_t i = 0; i < count; i += LANES) {
        int some = count - i < LANES ? (int)(count - i) : LANES;
        V v = LOOP(load)(x + i, 1, some), zero = {0};
        V kept = SUFFIX(choose)(v <= zero, zero, v);
        LOOP(store)(y + i, 1, some, leak->leak ? (T)leak->keep * kept + (T)leak->leak * v : kept);
    }
}

static void LOOP(relu_backward)(const void *x_, const void *g_, void *dx_, int64_t count, const Leak *leak) {
    const S *x = x_, *g = g_;
    S *dx = dx_;
    for (int64_t i = 0; i < count; i += LANES) {
        int some = count - i < LANES ? (int)(count - i) : LANES;
        V v = LOOP(load)(x + i, 1, some), d = LOOP(load)(g + i, 1, some), zero = {0};
        LOOP(store)(dx + i, 1, some, (T)leak->keep * SUFFIX(choose)(v <= zero, zero, d) + (T)leak->leak * d);
    }
}
