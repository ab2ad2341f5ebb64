/* Python's door to the CPU kernel. No torch header: tensors come as addresses, threads through torch's own pool. */

#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include "cone_kernel.h"

typedef void (*ParallelBody)(int64_t begin, int64_t end, void *context);
typedef int32_t (*ParallelFor)(int64_t begin, int64_t end, int64_t grain, ParallelBody body, void *context);

static ParallelFor parallel_for; /* torch_parallel_for of libtorch_cpu; null: one thread */

enum { SERIAL_ELEMENTS = 32768 }; /* where torch's own elementwise operators start to use threads */

static Angle angle_at(double theta, double quarter_plus_theta) {
    Angle a = {cos(quarter_plus_theta), sin(quarter_plus_theta), cos(theta), sin(-theta) + 0.0};
    if (quarter_plus_theta == 0) a.wide = a.narrow; /* a ray has no interior, which rounding would find */
    return a;
}

/* theta is alpha - pi/4, clamped to +-limit. Sums are taken in theta's own type, so that theta = 0 is exactly ReLU. */
static void read_angles(Angle *angles, int64_t count, const void *theta, int is_double, double limit) {
    for (int64_t i = 0; i < count; i++) {
        double value = is_double ? ((const double *)theta)[i] : ((const float *)theta)[i];
        value = value > limit ? limit : value < -limit ? -limit : value;
        double alpha = is_double ? M_PI_4 + value : (double)((float)M_PI_4 + (float)value);
        angles[i] = angle_at(value, alpha);
    }
}

/* By theta as by alpha, also where theta is clamped: see angle_from_offset in project/cone.py. */
static void write_angle_gradient(const Job *job, void *out, int64_t count, int is_double) {
    for (int64_t i = 0; i < count; i++) {
        double total = 0;
        for (int64_t chunk = 0; chunk < job->chunks; chunk++) total += job->partial[chunk * count + i];
        total *= job->leak.keep;
        if (is_double) ((double *)out)[i] = total;
        else ((float *)out)[i] = (float)total;
    }
}

static int64_t as_int(PyObject *value) { return (int64_t)PyLong_AsLongLong(value); }
static void *as_address(PyObject *value) { return PyLong_AsVoidPtr(value); }

/* run(dtype, x, g, out, outer, channels, inner, m, split, pad, theta, theta_is_double, angles, limit, leak, dtheta,
 *     baseline)
 * g = 0: forward, out is y. Otherwise backward: out is the gradient of x, dtheta that of theta. */
static PyObject *run(PyObject *self, PyObject *const *a, Py_ssize_t count) {
    (void)self;
    if (count != 17) {
        PyErr_SetString(PyExc_TypeError, "run takes 17 arguments");
        return NULL;
    }
    Job job = {0};
    job.kernels = kernels_for((int)as_int(a[0]), (int)as_int(a[16]));
    job.x = as_address(a[1]), job.g = as_address(a[2]), job.out = as_address(a[3]);
    job.outer = as_int(a[4]), job.channels = as_int(a[5]), job.inner = as_int(a[6]);
    job.m = (int)as_int(a[7]), job.split = (int)as_int(a[8]), job.pad = (int)as_int(a[9]);
    const void *theta = as_address(a[10]);
    const int is_double = (int)as_int(a[11]);
    const int64_t angles = as_int(a[12]), elements = job.outer * job.channels * job.inner;
    const double limit = PyFloat_AsDouble(a[13]), leak = PyFloat_AsDouble(a[14]);
    void *dtheta = as_address(a[15]);
    if (PyErr_Occurred()) return NULL;

    job.leak = (Leak){1 - leak, leak, 0};
    job.by_group = angles > 1;
    Angle one_angle, *table = &one_angle;
    double few_sums[CHUNKS] = {0}, *sums = few_sums;
    if (job.by_group) table = malloc((size_t)angles * sizeof *table), sums = calloc((size_t)(CHUNKS * angles), sizeof *sums);
    if (!table || !sums) {
        if (table != &one_angle) free(table);
        if (sums != few_sums) free(sums);
        return PyErr_NoMemory();
    }
    read_angles(table, angles, theta, is_double, limit);
    job.angles = table, job.partial = sums;
    plan(&job);
    if (elements <= SERIAL_ELEMENTS || !parallel_for) {
        run_chunks(0, job.chunks, &job);
    } else {
        Py_BEGIN_ALLOW_THREADS
        parallel_for(0, job.chunks, 1, run_chunks, &job);
        Py_END_ALLOW_THREADS
    }
    if (dtheta) write_angle_gradient(&job, dtheta, angles, is_double);
    if (table != &one_angle) free(table);
    if (sums != few_sums) free(sums);
    Py_RETURN_NONE;
}

static PyObject *set_parallel_for(PyObject *self, PyObject *address) {
    (void)self;
    parallel_for = (ParallelFor)PyLong_AsVoidPtr(address);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_instruction_set(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    return PyUnicode_FromString(instruction_set());
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, "Forward or backward pass over memory given by address."},
    {"set_parallel_for", set_parallel_for, METH_O, "Take the address of torch_parallel_for."},
    {"instruction_set", get_instruction_set, METH_NOARGS, "The instruction set in use."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_cone", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__cone(void) { return PyModule_Create(&module); }
