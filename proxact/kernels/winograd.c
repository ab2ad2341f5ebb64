/* Python's door to winograd_kernel.h. As in cone.c, tensors come as addresses and threads from torch's own pool. */

#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include "winograd_kernel.h"

typedef int32_t (*ParallelFor)(int64_t begin, int64_t end, int64_t grain, void (*)(int64_t, int64_t, void *), void *);

enum { ADDRESSES = 4, SIZES = 6 };

/* pictures, height, width, in, out, parts */
static void read_sizes(Job *job, PyObject *const *a) {
    int64_t *to[SIZES] = {&job->pictures, &job->height, &job->width, &job->in, &job->out, &job->parts};
    for (int i = 0; i < SIZES; i++) *to[i] = PyLong_AsLongLong(a[i]);
}

/* run(parallel_for, is_gradient, is_half, x, other, result, scratch, *sizes); parallel_for = 0: one thread */
static PyObject *run(PyObject *self, PyObject *const *a, Py_ssize_t count) {
    (void)self;
    if (count != 3 + ADDRESSES + SIZES) {
        PyErr_SetString(PyExc_TypeError, "run takes 13 arguments");
        return NULL;
    }
    ParallelFor parallel_for = (ParallelFor)PyLong_AsVoidPtr(a[0]);
    void (*bodies[2][2])(int64_t, int64_t, void *) = {{convolve, convolve_half}, {filter_gradient, filter_gradient_half}};
    void (*body)(int64_t, int64_t, void *) = bodies[PyLong_AsLong(a[1]) != 0][PyLong_AsLong(a[2]) != 0];
    Job job = {PyLong_AsVoidPtr(a[3]), PyLong_AsVoidPtr(a[4]), PyLong_AsVoidPtr(a[5]), PyLong_AsVoidPtr(a[6]), 0, 0, 0, 0, 0, 0};
    read_sizes(&job, a + 3 + ADDRESSES);
    if (PyErr_Occurred()) return NULL;
    Py_BEGIN_ALLOW_THREADS
    if (parallel_for) parallel_for(0, job.parts, 1, body, &job);
    else body(0, job.parts, &job);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* scratch(*sizes): floats that a part needs */
static PyObject *scratch(PyObject *self, PyObject *const *a, Py_ssize_t count) {
    (void)self;
    if (count != SIZES) {
        PyErr_SetString(PyExc_TypeError, "scratch takes 6 arguments");
        return NULL;
    }
    Job job = {0};
    read_sizes(&job, a);
    if (PyErr_Occurred()) return NULL;
    return PyLong_FromLongLong(scratch_floats(&job));
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, "Convolve, or find the filters' gradient; memory by address."},
    {"scratch", (PyCFunction)(void (*)(void))scratch, METH_FASTCALL, "Floats that a part needs."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_winograd", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__winograd(void) {
    PyObject *made = PyModule_Create(&module);
    if (made && PyModule_AddIntConstant(made, "runs_here", runs_here())) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
