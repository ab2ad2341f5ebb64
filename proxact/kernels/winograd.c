/* Python's door to winograd_kernel.h. As in cone.c, tensors come as addresses and threads from torch's own pool. */

#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include "winograd_kernel.h"

typedef int32_t (*ParallelFor)(int64_t begin, int64_t end, int64_t grain, void (*)(int64_t, int64_t, void *), void *);

/* run(parallel_for, is_gradient, x, other, result, scratch, pictures, height, width, in, out, parts);
 * parallel_for = 0: one thread */
static PyObject *run(PyObject *self, PyObject *const *a, Py_ssize_t count) {
    (void)self;
    if (count != 12) {
        PyErr_SetString(PyExc_TypeError, "run takes 12 arguments");
        return NULL;
    }
    ParallelFor parallel_for = (ParallelFor)PyLong_AsVoidPtr(a[0]);
    void (*body)(int64_t, int64_t, void *) = PyLong_AsLong(a[1]) ? filter_gradient : convolve;
    int64_t sizes[6];
    for (int i = 0; i < 6; i++) sizes[i] = PyLong_AsLongLong(a[6 + i]);
    Job job = {PyLong_AsVoidPtr(a[2]), PyLong_AsVoidPtr(a[3]), PyLong_AsVoidPtr(a[4]), PyLong_AsVoidPtr(a[5]), sizes[0], sizes[1],
               sizes[2], sizes[3], sizes[4], sizes[5], block_of(sizes[3], sizes[4])};
    if (PyErr_Occurred()) return NULL;
    Py_BEGIN_ALLOW_THREADS
    if (parallel_for) parallel_for(0, job.parts, 1, body, &job);
    else body(0, job.parts, &job);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* scratch(in, out): floats that a part needs */
static PyObject *scratch(PyObject *self, PyObject *const *a, Py_ssize_t count) {
    (void)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "scratch takes 2 arguments");
        return NULL;
    }
    const int64_t in = PyLong_AsLongLong(a[0]), out = PyLong_AsLongLong(a[1]);
    if (PyErr_Occurred()) return NULL;
    return PyLong_FromLongLong(scratch_floats(in, out));
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
