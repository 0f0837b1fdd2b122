# A part of page_scanner.pyx: the items of a page, found in its body and left there.
#
# ``split_page`` walks over the body of a Scan answer by the grammar of JSON and notes where each
# element of ``Items`` begins and ends. Nothing is made of an element before somebody wants it, and
# a ``PageScanner`` never does. The walk understands compact JSON; everything else is *handed back*
# (white space, ``Items`` twice or empty, a name with an escape, half of a surrogate pair, deeper
# nesting than ``NESTING_MAX``), and msgspec splits that page. What is accepted, msgspec accepts, and
# with the same elements: like it, the walk does not look whether text is valid UTF-8.
#
# Memory and recursion: as ``page_scanner.pyx`` has it.

from collections.abc import Sequence

from msgspec import Raw

from cpython.mem cimport PyMem_Free, PyMem_Realloc

cdef enum:
    NESTING_MAX = 128  # of JSON values; an item of DynamoDB's 32 levels has 65
    SPANS_MIN = 64  # of the first memory for them; a page has up to some ten thousand

cdef struct Span:  # of an element, in the body
    size_t start
    size_t end


cdef extern from *:
    """
    #ifdef __SSE2__
    #include <emmintrin.h>
    #endif

    /* Where a string whose content begins at p has its first quote, backslash or control character;
       end: it has none. */
    static inline const unsigned char *find_special(
        const unsigned char *p, const unsigned char *end
    ) {
    #ifdef __SSE2__
        const __m128i quote = _mm_set1_epi8(0x22), backslash = _mm_set1_epi8(0x5C);
        const __m128i control = _mm_set1_epi8(0x1F);
        while (end - p >= 16) {
            const __m128i text = _mm_loadu_si128((const __m128i *)p);
            __m128i found = _mm_cmpeq_epi8(_mm_min_epu8(text, control), text);
            found = _mm_or_si128(found, _mm_cmpeq_epi8(text, quote));
            found = _mm_or_si128(found, _mm_cmpeq_epi8(text, backslash));
            const int places = _mm_movemask_epi8(found);
            if (places) return p + __builtin_ctz(places);
            p += 16;
        }
    #endif
        while (p < end && *p >= 0x20 && *p != 0x22 && *p != 0x5C) p++;
        return p;
    }
    """
    Text find_special(Text p, Text end) noexcept nogil


# -- values that are passed over -----------------------------------------------------------------


cdef Text skip_escaped(Text p, Text end) noexcept nogil:
    """As ``skip_string``, from a character at ``p`` on that is special, or the end."""
    cdef uint32_t character = 0
    while p < end and p[0] == c'\\':
        p = read_escape(p, end, &character)
        if p == NULL:
            return NULL
        p = find_special(p, end)
    return p if p < end and p[0] == c'"' else NULL


cdef inline Text skip_string(Text p, Text end) noexcept nogil:
    """The closing quote of a string whose content begins at ``p``; NULL: not understood."""
    p = find_special(p, end)
    return p if p < end and p[0] == c'"' else skip_escaped(p, end)


cdef inline Text skip_name(Text p, Text end) noexcept nogil:
    """What is behind the name of a member at ``p`` and its colon; NULL: not understood."""
    if p == end or p[0] != c'"':
        return NULL
    p = skip_string(p + 1, end)
    if p == NULL or end - p < 2 or p[1] != c':':
        return NULL
    return p + 2


cdef inline Text skip_scalar(Text p, Text end) noexcept nogil:
    """What is behind an attribute value at ``p`` that is a scalar, as most are; NULL: it is none.

    This is for speed alone: ``skip_value`` knows what such values consist of.
    """
    if end - p < 16 or p[0] != c'{' or p[1] != c'"':
        return NULL
    if p[3] == c'"' and p[4] == c':' and p[5] == c'"' and (p[2] == c'S' or p[2] == c'N' or p[2] == c'B'):
        p = skip_string(p + 6, end)
        if p == NULL or end - p < 2 or p[1] != c'}':
            return NULL
        return p + 2
    if memcmp(p, b'{"BOOL":true}', 13) == 0 or memcmp(p, b'{"NULL":true}', 13) == 0:
        return p + 13
    return NULL


cdef inline Text skip_literal(Text p, Text end) noexcept nogil:
    """What is behind ``true``, ``false``, ``null`` or a number at ``p``; NULL: not understood."""
    if end - p >= 4 and (memcmp(p, b"true", 4) == 0 or memcmp(p, b"null", 4) == 0):
        return p + 4
    if end - p >= 5 and memcmp(p, b"false", 5) == 0:
        return p + 5
    return skip_number(p, end)


cdef Text skip_value(Text p, Text end) noexcept nogil:
    """What is behind the value at ``p``; NULL: not understood."""
    cdef unsigned char closers[NESTING_MAX]
    cdef int depth = 0
    cdef unsigned char closer = 0  # of what is open; of nothing, none that occurs
    cdef Text scalar
    while True:
        scalar = skip_scalar(p, end)
        if scalar != NULL:
            p = scalar
        elif p == end:
            return NULL
        elif p[0] == c'"':
            p = skip_string(p + 1, end)
            if p == NULL:
                return NULL
            p += 1
        elif p[0] == c'{' or p[0] == c'[':
            if depth == NESTING_MAX:
                return NULL
            closers[depth] = closer
            depth += 1
            closer = p[0] + 2  # in ASCII, of both
            p += 1
            if p == end:
                return NULL
            if p[0] != closer:
                if closer == c'}':
                    p = skip_name(p, end)
                    if p == NULL:
                        return NULL
                continue
        else:
            p = skip_literal(p, end)
            if p == NULL:
                return NULL
        if depth == 0:
            return p
        while p < end and p[0] == closer:
            depth -= 1
            closer = closers[depth]
            p += 1
            if depth == 0:
                return p
        if p == end or p[0] != c',':
            return NULL
        p += 1
        if closer == c'}':
            p = skip_name(p, end)
            if p == NULL:
                return NULL


# -- pages ---------------------------------------------------------------------------------------


cdef class PageItems:
    """Items that lie in the body of their page, as a sequence of ``Raw``; keeps the body alive."""

    cdef Py_buffer body
    cdef Span *spans
    cdef Py_ssize_t count
    cdef Py_ssize_t room

    index = Sequence.index

    def __dealloc__(self):
        PyMem_Free(self.spans)
        PyBuffer_Release(&self.body)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._part(range(self.count)[index])
        return self.raw(range(self.count)[index])

    def __iter__(self):
        cdef Py_ssize_t i
        for i in range(self.count):
            yield self.raw(i)

    cdef object raw(self, Py_ssize_t i):
        """A copy of an item."""
        cdef Span *span = &self.spans[i]
        text = PyBytes_FromStringAndSize(<char *>self.body.buf + span.start, span.end - span.start)
        return Raw(text)

    cdef PageItems _part(self, places):
        cdef PageItems part
        cdef Py_ssize_t i
        if len(places) == self.count and places.step == 1:
            return self
        part = _items_of(self.body.obj)
        for i in places:
            part._add(self.spans[i])
        return part

    cdef inline int _add(self, Span span) except -1:
        cdef Py_ssize_t room
        cdef void *grown
        if self.count == self.room:
            room = max(2 * self.room, <Py_ssize_t>SPANS_MIN)
            grown = PyMem_Realloc(self.spans, room * sizeof(Span))
            if grown == NULL:
                raise MemoryError(f"no memory for {room} items of a page")
            self.spans = <Span *>grown
            self.room = room
        self.spans[self.count] = span
        self.count += 1
        return 0

    cdef bint _find(self, Span *elements) except -1:
        """Find the items, and what there is of them between two brackets; False: handed back."""
        cdef Text begin = <Text>self.body.buf, end = begin + self.body.len, p = begin, name
        if p == end or p[0] != c'{':
            return False
        while True:
            name = p + 1
            p = skip_name(name, end)
            if p == NULL or memchr(name, c'\\', p - name) != NULL:
                return False
            if p - name == 8 and memcmp(name, b'"Items":', 8) == 0:
                if self.count or p == end or p[0] != c'[':
                    return False
                elements.start = p + 1 - begin
                p = self._find_elements(p, end)
                if p == NULL:
                    return False
                elements.end = p - begin
                p += 1
            else:
                p = skip_value(p, end)
            if p == NULL or p == end:
                return False
            if p[0] == c'}':
                return self.count > 0 and p + 1 == end
            if p[0] != c',':
                return False

    cdef Text _find_elements(self, Text p, Text end) except? NULL:
        """The bracket that closes the array of items at ``p``; NULL: handed back, or an error."""
        cdef Text begin = <Text>self.body.buf
        cdef Span span
        while True:
            span.start = p + 1 - begin
            p = skip_value(p + 1, end)
            if p == NULL or p == end:
                return NULL
            span.end = p - begin
            self._add(span)
            if p[0] == c']':
                return p
            if p[0] != c',':
                return NULL


Sequence.register(PageItems)


cdef PageItems _items_of(body):
    """None of them yet."""
    cdef PageItems items = PageItems.__new__(PageItems)
    PyObject_GetBuffer(body, &items.body, PyBUF_SIMPLE)
    return items


def split_page(body):
    """The elements of ``Items`` in a JSON object, and the object without them.

    None: it is handed back, and may be damaged or not.
    """
    cdef PageItems items = _items_of(body)
    cdef char *text = <char *>items.body.buf
    cdef Span elements
    if not items._find(&elements):
        return None
    before = PyBytes_FromStringAndSize(text, elements.start)
    after = PyBytes_FromStringAndSize(text + elements.end, items.body.len - elements.end)
    return items, before + after
