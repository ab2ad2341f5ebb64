/* Python's door to winners_kernel.h. As in cone.c, tensors come as addresses and threads from torch's own pool. */

#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include "winners_kernel.h"

typedef int32_t (*ParallelFor)(int64_t begin, int64_t end, int64_t grain, void (*)(int64_t, int64_t, void *), void *);

enum { SERIAL_ELEMENTS = 8192 };

/* run(parallel_for, x, source, out, rows, channels, winners); parallel_for = 0: one thread */
static PyObject *run(PyObject *self, PyObject *const *a, Py_ssize_t count) {
    (void)self;
    if (count != 7) {
        PyErr_SetString(PyExc_TypeError, "run takes 7 arguments");
        return NULL;
    }
    ParallelFor parallel_for = (ParallelFor)PyLong_AsVoidPtr(a[0]);
    Job job = {PyLong_AsVoidPtr(a[1]), PyLong_AsVoidPtr(a[2]), PyLong_AsVoidPtr(a[3]), PyLong_AsLongLong(a[5]),
               PyLong_AsLongLong(a[6])};
    const int64_t rows = PyLong_AsLongLong(a[4]);
    if (PyErr_Occurred()) return NULL;
    Py_BEGIN_ALLOW_THREADS
    if (parallel_for) parallel_for(0, rows, 1 + SERIAL_ELEMENTS / job.channels, select_rows, &job);
    else select_rows(0, rows, &job);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, "Keep the winners of each row; memory given by address."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_winners", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__winners(void) {
    PyObject *made = PyModule_Create(&module);
    if (made && (PyModule_AddIntConstant(made, "runs_here", runs_here()) || PyModule_AddIntConstant(made, "longest", LONGEST))) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
