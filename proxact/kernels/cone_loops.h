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
    if (count == LANES) {
        UNROLL /* in registers: reading a vector back from single stores stalls */
        for (int i = 0; i < LANES; i++) few[i] = at[i * lane];
    } else {
        for (int i = 0; i < count; i++) few[i] = at[i * lane];
    }
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
#if HAS_PAIRS
    if (m == 2) {
        LOOP(widen_pairs)(at, &x[0], &x[1]);
        return;
    }
#endif
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
#if HAS_PAIRS
    if (m == 2) {
        LOOP(narrow_pairs_to)(at, y[0], y[1]);
        return;
    }
#endif
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
    if (woven && !(HAS_PAIRS && m == 2) && (m == 2 || m == 3 || m == 4 || m == 8)) SUFFIX(unweave)(m, lanes);
    else
#endif
        for (int i = 0; i < LANES; i++) lanes[0][i] = (T)i;
    return lanes[0];
}

/* Redo those groups of a vector whose size is extreme or not finite, from memory, in double with scaling. */
static __attribute__((noinline)) void LOOP(rescue)(int m, int present, int count, int skip, const S *x, const S *g,
                                                   S *out, int64_t member, int64_t lane, const Angle *angle,
                                                   double *by_angle, int by_group, const Leak *leak) {
    const SUFFIX(Coefficients) *k = leak->prepared;
    double few[24], *a = m <= 8 ? few : malloc(3 * (size_t)m * sizeof(double)), *b = a + m, *c = b + m;
    if (!a) return;
    for (int i = 0; i < count; i++) {
        double squares = 0, sizes = 0, turn = 0;
        for (int j = 0; j < m; j++) {
            a[j] = j < present ? LOOP(load)(x + j * member + i * lane, 1, 1)[0] : 0;
            b[j] = g && j < present ? LOOP(load)(g + j * member + i * lane, 1, 1)[0] : 0;
            squares += a[j] * a[j], sizes += fabs(a[j]);
        }
        /* At 0 the fast formulas give the value but not the derivative, which is that of the apex: 0. */
        if (m == 2 ? sizes <= k->largest : (!g && sizes == 0) || (squares >= k->smallest && squares <= k->largest)) continue;
        if (g)
            careful_backward(m, a, b, c, &turn, angle + (by_group ? i : 0), leak);
        else
            careful_forward(m, a, c, angle + (by_group ? i : 0), leak);
        for (int j = 0; j < present; j++) LOOP(store)(out + j * member + i * lane, 1, 1, SUFFIX(splat)((T)c[j]));
        if (g && i >= skip) by_angle[by_group ? i : 0] += turn;
    }
    if (a != few) free(a);
}

/* One vector of groups. Those that rescue redoes lie in memory already, so that in and out can stay in registers. */
static INLINE void LOOP(forward_step)(const int m, const int woven, const int present, const int count, const S *x,
                                      S *y, int64_t member, int64_t lane, const SUFFIX(Coefficients) * k,
                                      const Angle *angle, int by_group, const Leak *leak, V *in, V *out) {
    LOOP(read)(m, woven, present, count, x, member, lane, in);
    M fit = SUFFIX(project)(m, in, out, k);
    LOOP(write)(m, woven, present, count, y, member, lane, out);
    if (__builtin_expect(!SUFFIX(all)(fit), 0) && (m == 2 || !SUFFIX(all)(fit | SUFFIX(is_zero)(m, in))))
        LOOP(rescue)(m, present, count, 0, x, 0, y, member, lane, angle, 0, by_group, leak);
}

/* Returns the derivative by the angle; of the first `skip` groups, which another vector has too, it goes unused. */
static INLINE V LOOP(backward_step)(const int m, const int woven, const int present, const int count, const int skip,
                                    const S *x, const S *g, S *dx, int64_t member, int64_t lane,
                                    const SUFFIX(Coefficients) * k, const Angle *angle, double *by_angle, int by_group,
                                    const Leak *leak, V *in, V *given, V *out) {
    V turn;
    LOOP(read)(m, woven, present, count, x, member, lane, in);
    LOOP(read)(m, woven, present, count, g, member, lane, given);
    M fit = SUFFIX(differentiate)(m, in, given, out, &turn, k);
    LOOP(write)(m, woven, present, count, dx, member, lane, out);
    if (__builtin_expect(!SUFFIX(all)(fit), 0)) {
        turn = SUFFIX(where)(fit, turn);
        LOOP(rescue)(m, present, count, skip, x, g, dx, member, lane, angle, by_angle, by_group, leak);
    }
    return turn;
}

#if HAS_PAIRS
/* Two vectors of groups in rows, those at even and those at odd positions. */
static INLINE void LOOP(forward_pairs)(const int m, const S *x, S *y, int64_t member, const SUFFIX(Coefficients) * k,
                                       const Angle *angle, const Leak *leak) {
    V even[8], odd[8];
    UNROLL
    for (int j = 0; j < m; j++) LOOP(widen_pairs)(x + j * member, &even[j], &odd[j]);
    M fit = SUFFIX(project)(m, even, even, k) & SUFFIX(project)(m, odd, odd, k);
    UNROLL
    for (int j = 0; j < m; j++) LOOP(narrow_pairs_to)(y + j * member, even[j], odd[j]);
    if (__builtin_expect(!SUFFIX(all)(fit), 0))
        LOOP(rescue)(m, m, 2 * LANES, 0, x, 0, y, member, 1, angle, 0, 0, leak);
}

static INLINE V LOOP(backward_pairs)(const int m, const S *x, const S *g, S *dx, int64_t member,
                                     const SUFFIX(Coefficients) * k, const Angle *angle, double *by_angle,
                                     const Leak *leak) {
    V even[8], odd[8], g_even[8], g_odd[8], turn_even, turn_odd;
    UNROLL
    for (int j = 0; j < m; j++) LOOP(widen_pairs)(x + j * member, &even[j], &odd[j]);
    UNROLL
    for (int j = 0; j < m; j++) LOOP(widen_pairs)(g + j * member, &g_even[j], &g_odd[j]);
    M fit_even = SUFFIX(differentiate)(m, even, g_even, g_even, &turn_even, k);
    M fit_odd = SUFFIX(differentiate)(m, odd, g_odd, g_odd, &turn_odd, k);
    UNROLL
    for (int j = 0; j < m; j++) LOOP(narrow_pairs_to)(dx + j * member, g_even[j], g_odd[j]);
    if (__builtin_expect(!SUFFIX(all)(fit_even & fit_odd), 0)) {
        turn_even = SUFFIX(where)(fit_even, turn_even), turn_odd = SUFFIX(where)(fit_odd, turn_odd);
        LOOP(rescue)(m, m, 2 * LANES, 0, x, g, dx, member, 1, angle, by_angle, 0, leak);
    }
    return turn_even + turn_odd;
}
#endif

/* Rows are too short for the hardware to foresee: ask for the next one while this one is worked on. */
static INLINE void LOOP(foresee)(const int m, const S *at, int64_t member) {
    UNROLL
    for (int j = 0; j < m; j++) __builtin_prefetch(at + j * member);
}

/* Rows of at least one vector of whole groups, one angle; m and woven are known where this is inlined. The last vector
 * of a row may overlap the one before. */
static INLINE void LOOP(forward_fixed)(const int m, const int woven, const S *x, S *y, const Span *span,
                                       const Angle *angle, const Leak *leak) {
    const SUFFIX(Coefficients) k = *(const SUFFIX(Coefficients) *)leak->prepared;
    const int64_t groups = span->groups, member = woven ? 1 : span->member, lane = woven ? m : 1;
    V in[8], out[8];
    for (int64_t row = 0; row < span->rows; row++, x += span->pitch, y += span->pitch) {
        int64_t next = 0;
#if HAS_PAIRS
        for (; !woven && m <= 4 && next + 2 * LANES <= groups; next += 2 * LANES) {
            LOOP(foresee)(m, x + next + span->pitch, member);
            LOOP(foresee)(m, y + next + span->pitch, member);
            LOOP(forward_pairs)(m, x + next, y + next, member, &k, angle, leak);
        }
#endif
        for (; next < groups; next += LANES) {
            const int64_t i = next + LANES <= groups ? next : groups - LANES;
            if (!woven) {
                LOOP(foresee)(m, x + i + span->pitch, member);
                LOOP(foresee)(m, y + i + span->pitch, member);
            }
            LOOP(forward_step)(m, woven, m, LANES, x + i * lane, y + i * lane, member, lane, &k, angle, 0, leak, in, out);
        }
    }
}

static INLINE void LOOP(backward_fixed)(const int m, const int woven, const S *x, const S *g, S *dx, double *by_angle,
                                        const Span *span, const Angle *angle, const Leak *leak) {
    const SUFFIX(Coefficients) k = *(const SUFFIX(Coefficients) *)leak->prepared;
    const int64_t groups = span->groups, member = woven ? 1 : span->member, lane = woven ? m : 1;
    const int overlap = groups % LANES ? LANES - (int)(groups % LANES) : 0;
    const M seen_twice = LOOP(order)(m, woven) < SUFFIX(splat)((T)overlap);
    V in[8], given[8], out[8], turned = {0};
    int terms = 0; /* short sums in T, long ones in double */
    for (int64_t row = 0; row < span->rows; row++, x += span->pitch, g += span->pitch, dx += span->pitch) {
        int64_t next = 0;
        while (next < groups) {
            const int64_t end = next + 64 * LANES;
#if HAS_PAIRS
            for (; !woven && m <= 4 && next + 2 * LANES <= groups && next < end; next += 2 * LANES) {
                LOOP(foresee)(m, x + next + span->pitch, member);
                LOOP(foresee)(m, g + next + span->pitch, member);
                LOOP(foresee)(m, dx + next + span->pitch, member);
                turned += LOOP(backward_pairs)(m, x + next, g + next, dx + next, member, &k, angle, by_angle, leak);
                terms += 2;
            }
#endif
            for (; next < groups && next < end; next += LANES, terms++) {
                const int skip = next + LANES <= groups ? 0 : overlap;
                const int64_t at = (next - skip) * lane;
                if (!woven) {
                    LOOP(foresee)(m, x + at + span->pitch, member);
                    LOOP(foresee)(m, g + at + span->pitch, member);
                    LOOP(foresee)(m, dx + at + span->pitch, member);
                }
                V turn = LOOP(backward_step)(m, woven, m, LANES, skip, x + at, g + at, dx + at, member, lane, &k, angle,
                                             by_angle, 0, leak, in, given, out);
                turned += skip ? SUFFIX(where)(~seen_twice, turn) : turn;
            }
            if (terms >= 64) {
                *by_angle += SUFFIX(total)(turned);
                turned = (V){0}, terms = 0;
            }
        }
    }
    *by_angle += SUFFIX(total)(turned);
}

/* Any m, members that are absent (padding), an angle for each group; one row. */
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
        double *turned = span->by_group ? by_angle + i : by_angle;
        if (span->by_group) k = SUFFIX(coefficients)(m, here, 1, count, leak);
        V turn = LOOP(backward_step)(m, 0, span->present, count, 0, x + i * span->lane, g + i * span->lane,
                                     dx + i * span->lane, span->member, span->lane, &k, here, turned, span->by_group,
                                     leak, room, room + m, room + 2 * m);
        if (span->by_group || count < LANES)
            for (int l = 0; l < count; l++) turned[span->by_group ? l : 0] += turn[l];
        else
            *turned += SUFFIX(total)(turn);
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
    for (int64_t row = 0; row < span->rows; row++, x += span->pitch, y += span->pitch)
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
    for (int64_t row = 0; row < span->rows; row++, x += span->pitch, g += span->pitch, dx += span->pitch)
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
