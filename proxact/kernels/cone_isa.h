/* Everything that is compiled once for each instruction set. ISA is the suffix of its names. */

#define JOIN3_(a, b, c) a##_##b##_##c
#define JOIN3(a, b, c) JOIN3_(a, b, c)

/* ---- float: float32, bfloat16 and float16 in memory ---- */
#define T float
#define LANES 8
#define SQRT sqrtf
/* The estimate has 12 bits; one Newton step makes it 23. Square root and division would take most of the time. */
#define INVERSE_ROOT_AVX(x) ({ V e_ = (V)_mm256_rsqrt_ps((__m256)(x)); e_ * (1.5f - 0.5f * (x) * e_ * e_); })
#define BLEND_AVX(mask, yes, no) ((V)_mm256_blendv_ps((__m256)(no), (__m256)(yes), (__m256)(mask)))
#define LARGER_AVX(a, b) ((V)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define SMALLER_AVX(a, b) ((V)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define V JOIN3(vector, float, ISA)
#define M JOIN3(mask, float, ISA)
#define SUFFIX(name) JOIN3(name, float, ISA)
typedef float V __attribute__((vector_size(32)));
typedef int32_t M __attribute__((vector_size(32)));
#include "cone_math.h"

#define H JOIN3(halves, float, ISA)
#define U JOIN3(bits, float, ISA)
typedef uint16_t H __attribute__((vector_size(16)));
typedef uint32_t U __attribute__((vector_size(32)));

/* Pairs of neighbours apart and together again; each is one shuffle within 128 bits. */
#define UNZIP(a, b) do { V e_ = __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14); \
    b = __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15); a = e_; } while (0)
#define ZIP(a, b) do { V l_ = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13); \
    b = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15); a = l_; } while (0)
#define SWAP_HALVES(a, b) do { V l_ = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11); \
    b = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15); a = l_; } while (0)
#define PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, (k) + 8, (l) + 8, (i) + 4, (j) + 4, (k) + 12, (l) + 12)

static INLINE void SUFFIX(unweave)(const int m, V *x) {
    if (m == 2) {
        UNZIP(x[0], x[1]);
    } else if (m == 4) {
        UNZIP(x[0], x[1]); /* members 0 2, members 1 3 */
        UNZIP(x[2], x[3]);
        UNZIP(x[0], x[2]); /* 0, 2 */
        UNZIP(x[1], x[3]); /* 1, 3 */
    } else if (m == 8) {
        UNROLL
        for (int i = 0; i < 8; i += 2) UNZIP(x[i], x[i + 1]);           /* even, odd members */
        UNROLL
        for (int i = 0; i < 8; i += 4) {
            UNZIP(x[i], x[i + 2]);         /* 0 | 4, 2 | 6 */
            UNZIP(x[i + 1], x[i + 3]);     /* 1 | 5, 3 | 7 */
        }
        UNROLL
        for (int i = 0; i < 4; i++) SWAP_HALVES(x[i], x[i + 4]);
    } else {
        V a = __builtin_shufflevector(x[0], x[1], 0, 1, 2, 3, 12, 13, 14, 15);
        V b = __builtin_shufflevector(x[0], x[2], 4, 5, 6, 7, 8, 9, 10, 11);
        V c = __builtin_shufflevector(x[1], x[2], 0, 1, 2, 3, 12, 13, 14, 15);
        V late = PICK(b, c, 2, 3, 1, 2), early = PICK(a, b, 1, 2, 0, 1);
        x[0] = PICK(a, late, 0, 3, 0, 2);
        x[1] = PICK(early, late, 0, 2, 1, 3);
        x[2] = PICK(early, c, 1, 3, 0, 3);
    }
}

static INLINE void SUFFIX(weave)(const int m, V *x) {
    if (m == 2) {
        ZIP(x[0], x[1]);
    } else if (m == 4) {
        ZIP(x[0], x[2]);
        ZIP(x[1], x[3]);
        ZIP(x[0], x[1]);
        ZIP(x[2], x[3]);
    } else if (m == 8) {
        UNROLL
        for (int i = 0; i < 4; i++) SWAP_HALVES(x[i], x[i + 4]);
        UNROLL
        for (int i = 0; i < 8; i += 4) {
            ZIP(x[i], x[i + 2]);
            ZIP(x[i + 1], x[i + 3]);
        }
        UNROLL
        for (int i = 0; i < 8; i += 2) ZIP(x[i], x[i + 1]);
    } else {
        V p = PICK(x[0], x[1], 0, 2, 0, 2), q = PICK(x[1], x[2], 1, 3, 1, 3), r = PICK(x[2], x[0], 0, 2, 1, 3);
        V a = PICK(p, r, 0, 2, 0, 2), b = PICK(q, p, 0, 2, 1, 3), c = PICK(r, q, 1, 3, 1, 3);
        x[0] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        x[1] = __builtin_shufflevector(c, a, 0, 1, 2, 3, 12, 13, 14, 15);
        x[2] = __builtin_shufflevector(b, c, 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

#define DEFINE_COEFFICIENTS(SMALLEST, LARGEST, NO_SQUARES)                                                         \
    static INLINE SUFFIX(Coefficients)                                                                             \
        SUFFIX(coefficients)(int m, const Angle *angle, int64_t step, int count, const Leak *leak) {               \
        SUFFIX(Coefficients) k = {0};                                                                              \
        for (int i = 0; i < LANES; i++) {                                                                          \
            const Angle *a = angle + step * (i < count ? i : 0);                                                   \
            k.cos[i] = (T)a->cos, k.sin[i] = (T)a->sin, k.wide[i] = (T)a->wide, k.narrow[i] = (T)a->narrow;        \
        }                                                                                                          \
        k.inverse_root_m = (T)(1 / sqrt(m)), k.inverse_m = (T)(1.0 / m);                                            \
        k.keep = (T)leak->keep, k.leak = (T)leak->leak;                                                            \
        k.no_squares = (T)(NO_SQUARES);                                                                            \
        k.smallest = (T)(SMALLEST), k.largest = (T)(LARGEST);                                                       \
        return k;                                                                                                  \
    }                                                                                                              \
    static void SUFFIX(prepare)(void *prepared, int m, const Angle *angle, const Leak *leak) {                     \
        *(SUFFIX(Coefficients) *)prepared = SUFFIX(coefficients)(m, angle, 0, 1, leak);                            \
        _Static_assert(sizeof(SUFFIX(Coefficients)) <= 256, "Prepared is too small");                              \
    }
DEFINE_COEFFICIENTS(1e-18, 1e37, 1e-34)

#define HAS_PAIRS 0
#define S float
#define LOOP(name) JOIN3(name, f32, ISA)
static INLINE V LOOP(widen)(const float *at) { V v; memcpy(&v, at, sizeof v); return v; }
static INLINE void LOOP(narrow_to)(float *at, V v) { memcpy(at, &v, sizeof v); }
#include "cone_loops.h"
#undef S
#undef LOOP

#define S uint16_t
#define LOOP(name) JOIN3(name, bf16, ISA)
static INLINE V LOOP(widen)(const uint16_t *at) {
#if defined(__AVX2__)
    return (V)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)at)), 16);
#else
    H half;
    memcpy(&half, at, sizeof half);
    return (V)(__builtin_convertvector(half, U) << 16);
#endif
}
/* To nearest, ties to even. A nan here has no low bits (it comes from bfloat16 or is the default one): it stays. */
static INLINE U LOOP(rounded)(V v) { return (U)v + 0x7fff + (((U)v >> 16) & 1); }
static INLINE void LOOP(narrow_to)(uint16_t *at, V v) {
    U kept = LOOP(rounded)(v) >> 16;
#if defined(__AVX2__)
    __m256i wide = (__m256i)kept;
    _mm_storeu_si128((__m128i *)at, _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1)));
#else
    H half = __builtin_convertvector(kept, H);
    memcpy(at, &half, sizeof half);
#endif
}
/* Two neighbours make one 32-bit word, from which either is one operation away. */
#undef HAS_PAIRS
#define HAS_PAIRS (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
static INLINE void LOOP(widen_pairs)(const uint16_t *at, V *even, V *odd) {
    U words;
    memcpy(&words, at, sizeof words);
    *even = (V)(words << 16), *odd = (V)(words & 0xffff0000u);
}
static INLINE void LOOP(narrow_pairs_to)(uint16_t *at, V even, V odd) {
    U words = (LOOP(rounded)(even) >> 16) | (LOOP(rounded)(odd) & 0xffff0000u);
    memcpy(at, &words, sizeof words);
}
#include "cone_loops.h"
#undef HAS_PAIRS
#define HAS_PAIRS 0
#undef S
#undef LOOP

#define S uint16_t
#define LOOP(name) JOIN3(name, f16, ISA)
static INLINE V LOOP(widen)(const uint16_t *at) {
#if defined(__F16C__)
    return (V)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)at));
#else
    V v;
    for (int i = 0; i < LANES; i++) v[i] = float_from_half(at[i]);
    return v;
#endif
}
static INLINE void LOOP(narrow_to)(uint16_t *at, V v) {
#if defined(__F16C__)
    _mm_storeu_si128((__m128i *)at, _mm256_cvtps_ph((__m256)v, 0));
#else
    for (int i = 0; i < LANES; i++) at[i] = half_from_float(v[i]);
#endif
}
#include "cone_loops.h"
#undef S
#undef LOOP
#undef T
#undef LANES
#undef SQRT
#undef INVERSE_ROOT_AVX
#undef BLEND_AVX
#undef LARGER_AVX
#undef SMALLER_AVX
#undef V
#undef M
#undef SUFFIX

/* ---- double ---- */
#define T double
#define LANES 4
#define SQRT sqrt
#define INVERSE_ROOT_AVX(x) (1 / (V)_mm256_sqrt_pd((__m256d)(x)))
#define BLEND_AVX(mask, yes, no) ((V)_mm256_blendv_pd((__m256d)(no), (__m256d)(yes), (__m256d)(mask)))
#define LARGER_AVX(a, b) ((V)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define SMALLER_AVX(a, b) ((V)_mm256_min_pd((__m256d)(a), (__m256d)(b)))
#define V JOIN3(vector, double, ISA)
#define M JOIN3(mask, double, ISA)
#define SUFFIX(name) JOIN3(name, double, ISA)
typedef double V __attribute__((vector_size(32)));
typedef int64_t M __attribute__((vector_size(32)));
#include "cone_math.h"
DEFINE_COEFFICIENTS(1e-260, 1e307, 1e-300)

#define S double
#define LOOP(name) JOIN3(name, f64, ISA)
static INLINE V LOOP(widen)(const double *at) { V v; memcpy(&v, at, sizeof v); return v; }
static INLINE void LOOP(narrow_to)(double *at, V v) { memcpy(at, &v, sizeof v); }
#include "cone_loops.h"
#undef S
#undef LOOP
#undef T
#undef LANES
#undef SQRT
#undef INVERSE_ROOT_AVX
#undef BLEND_AVX
#undef LARGER_AVX
#undef SMALLER_AVX
#undef V
#undef M
#undef SUFFIX

static const Kernels JOIN3(kernels, all, ISA)[] = {
#define ROW(type, number, size)                                                                                  \
    {JOIN3(prepare, number, ISA), JOIN3(forward, type, ISA),       JOIN3(backward, type, ISA), JOIN3(relu, type, ISA), \
     JOIN3(relu_backward, type, ISA), size}
    ROW(f32, float, 4), ROW(f64, double, 8), ROW(bf16, float, 2), ROW(f16, float, 2),
#undef ROW
};

#undef DEFINE_COEFFICIENTS
#undef UNZIP
#undef ZIP
#undef SWAP_HALVES
#undef PICK
#undef H
#undef U
#undef HAS_PAIRS
#undef ISA
#undef SPECIALISED
