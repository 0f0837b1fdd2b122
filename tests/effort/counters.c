/* Counts what a trace function does not see; see counting.py.

   Blocks of code: whoever is compiled with -fsanitize-coverage=trace-pc calls us in each of its
   basic blocks. Blocks of memory: what is asked of Python's allocators, while that is counted. */

#include <Python.h>
#include <dlfcn.h>

enum { CODE_MAX = 1 << 20 };

unsigned int code_blocks[CODE_MAX]; /* by their place, in bytes from the start of their library */
unsigned long code_blocks_beyond;   /* of a library that is larger, or of a second one */
unsigned long allocations;

void __sanitizer_cov_trace_pc(void)
{
    static char *start;
    char *place = __builtin_return_address(0);
    if (start == NULL) {
        Dl_info library;
        if (!dladdr(place, &library))
            abort();
        start = library.dli_fbase;
    }
    if (place >= start && place - start < CODE_MAX)
        code_blocks[place - start]++;
    else
        code_blocks_beyond++;
}

static PyMemAllocatorEx own[2];
static const PyMemAllocatorDomain domains[2] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};

static void *counted_malloc(void *of, size_t size)
{
    PyMemAllocatorEx *inner = of;
    allocations++;
    return inner->malloc(inner->ctx, size);
}

static void *counted_calloc(void *of, size_t count, size_t size)
{
    PyMemAllocatorEx *inner = of;
    allocations++;
    return inner->calloc(inner->ctx, count, size);
}

static void *counted_realloc(void *of, void *memory, size_t size)
{
    PyMemAllocatorEx *inner = of;
    allocations++;
    return inner->realloc(inner->ctx, memory, size);
}

static void counted_free(void *of, void *memory)
{
    PyMemAllocatorEx *inner = of;
    inner->free(inner->ctx, memory);
}

/* Count allocations from now on, or no longer. */
void count_allocations(int is_on)
{
    for (int i = 0; i < 2; i++) {
        if (is_on) {
            PyMem_GetAllocator(domains[i], &own[i]);
            PyMemAllocatorEx counted = {
                &own[i], counted_malloc, counted_calloc, counted_realloc, counted_free,
            };
            PyMem_SetAllocator(domains[i], &counted);
        } else
            PyMem_SetAllocator(domains[i], &own[i]);
    }
}
