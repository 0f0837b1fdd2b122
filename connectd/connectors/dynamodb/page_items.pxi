# A part of page_scanner.pyx: the items of a page, found in its body and left there.
#
# ``split_page`` walks over the body of a Scan answer by the grammar of JSON and notes where each
# element of ``Items`` begins and ends. Nothing is made of an element before somebody wants it, and
# a ``PageScanner`` never does. The walk understands compact JSON; everything else is *handed back*
# (white space, ``Items`` twice or empty, a name with an escape, half of a surrogate pair, deeper
# nesting than ``NESTING_MAX``), and msgspec splits that page. What is accepted, msgspec accepts,
# and with the same elements: like it, the walk does not look whether text is valid UTF-8.
#
# Memory and recursion: as ``page_scanner.pyx`` has it.

from collections.abc import Sequence

from msgspec import Raw

from cpython.mem cimport PyMem_Free, PyMem_Realloc

cdef enum:
    NESTING_MAX = 128  # of JSON values; an item of DynamoDB's 32 levels has 65
    FACT_SIZE = 13  # bytes of {"BOOL":true} and {"NULL":true}
    SPANS_MIN = 64  # of the first memory for them; a page has up to some ten thousand

cdef struct Span:  # of an element, in the body
    size_t start
    size_t end


cdef extern from *:
    """
    enum { BLOCK = 64 };

    #define BYTES(byte) (0x0101010101010101 * (uint64_t)(byte))

    /* A set bit at the top of each byte that is zero. */
    AT_ONCE uint64_t zero_bytes(uint64_t word) {
        return ~(((word & BYTES(0x7F)) + BYTES(0x7F)) | word) & BYTES(0x80);
    }

    /* Which of the bytes of a block are quotes, backslashes or control characters: a bit for each,
       the lowest for the first. */
    AT_ONCE uint64_t special_bytes(const unsigned char *p) {
        uint64_t found = 0;
    #ifdef __SSE2__
        for (int i = 0; i < BLOCK; i += 16) {
            const __m128i text = _mm_loadu_si128((const __m128i *)(p + i));
            __m128i special = _mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8(0x1F)), text);
            special = _mm_or_si128(special, _mm_cmpeq_epi8(text, _mm_set1_epi8(0x22)));
            special = _mm_or_si128(special, _mm_cmpeq_epi8(text, _mm_set1_epi8(0x5C)));
            found |= (uint64_t)(unsigned)_mm_movemask_epi8(special) << i;
        }
    #elif defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        for (int i = 0; i < BLOCK; i += 8) {
            uint64_t word;
            memcpy(&word, p + i, 8);
            uint64_t special = zero_bytes(word & BYTES(0xE0));
            special |= zero_bytes(word ^ BYTES(0x22)) | zero_bytes(word ^ BYTES(0x5C));
            found |= ((special >> 7) * 0x0102040810204080 >> 56) << i; /* eight bits, gathered */
        }
    #else
        for (int i = 0; i < BLOCK; i++)
            found |= (uint64_t)(p[i] < 0x20 || p[i] == 0x22 || p[i] == 0x5C) << i;
    #endif
        return found;
    }

    AT_ONCE int first_bit(uint64_t bits) { /* of some */
    #ifdef __GNUC__
        return __builtin_ctzll(bits);
    #else
        int i = 0;
        while (!(bits >> i & 1)) i++;
        return i;
    #endif
    }
    """
    enum:
        BLOCK
    uint64_t special_bytes(Text p) noexcept nogil
    int first_bit(uint64_t bits) noexcept nogil


cdef struct Walk:  # over a text, always forwards
    Text end
    Text block  # which bytes of it are special, is known
    uint64_t special


# -- values that are passed over -----------------------------------------------------------------


cdef uint64_t special_at_end(Text p, Text end) noexcept nogil:
    """As ``special_bytes``, of a block that the end cuts: there is a special one behind it."""
    cdef unsigned char block[BLOCK]
    memset(block, 0, sizeof(block))
    memcpy(block, p, end - p)
    return special_bytes(block)


cdef inline void enter_block(Walk *walk, Text block) noexcept nogil:
    """Find out about a block, which may be cut by the end or begin there."""
    walk.block = block
    if walk.end - block >= BLOCK:
        walk.special = special_bytes(block)
    else:
        walk.special = special_at_end(block, walk.end)


cdef inline Text find_special(Text p, Walk *walk) noexcept nogil:
    """The next quote, backslash or control character from ``p`` on; the end: there is none.

    Where it is depends little on where ``p`` is, so the machine can look ahead.
    """
    cdef uint64_t special
    while p - walk.block >= BLOCK:
        enter_block(walk, walk.block + BLOCK)
    special = walk.special >> (p - walk.block)
    while special == 0:
        enter_block(walk, walk.block + BLOCK)
        p = walk.block
        special = walk.special
    return p + first_bit(special)


cdef Text skip_escaped(Text p, Walk *walk) noexcept nogil:
    """As ``skip_string``, from a character at ``p`` on that is special, or the end."""
    cdef uint32_t character = 0
    while p < walk.end and p[0] == c'\\':
        p = read_escape(p, walk.end, &character)
        if p == NULL:
            return NULL
        p = find_special(p, walk)
    return p if p < walk.end and p[0] == c'"' else NULL


cdef inline Text skip_string(Text p, Walk *walk) noexcept nogil:
    """The closing quote of a string whose content begins at ``p``; NULL: not understood."""
    p = find_special(p, walk)
    return p if p < walk.end and p[0] == c'"' else skip_escaped(p, walk)


cdef inline Text skip_name(Text p, Walk *walk) noexcept nogil:
    """What is behind the name of a member at ``p`` and its colon; NULL: not understood."""
    if p == walk.end or p[0] != c'"':
        return NULL
    p = skip_string(p + 1, walk)
    if p == NULL or walk.end - p < 2 or p[1] != c':':
        return NULL
    return p + 2


cdef inline bint opens_text(Text p, Walk *walk) noexcept nogil:
    """Whether an attribute value at ``p`` is a text: ``{"S":"``, or N or B."""
    if walk.end - p < 6 or p[0] != c'{' or p[1] != c'"' or p[3] != c'"':
        return False
    return p[4] == c':' and p[5] == c'"' and (p[2] == c'S' or p[2] == c'N' or p[2] == c'B')


cdef inline bint is_fact(Text p, Walk *walk) noexcept nogil:
    """Whether an attribute value at ``p`` is true or null."""
    if walk.end - p < FACT_SIZE:
        return False
    return (
        memcmp(p, b'{"BOOL":true}', FACT_SIZE) == 0 or memcmp(p, b'{"NULL":true}', FACT_SIZE) == 0
    )


cdef inline Text skip_literal(Text p, Walk *walk) noexcept nogil:
    """What is behind ``true``, ``false``, ``null`` or a number at ``p``; NULL: not understood."""
    if walk.end - p >= 4 and (memcmp(p, b"true", 4) == 0 or memcmp(p, b"null", 4) == 0):
        return p + 4
    if walk.end - p >= 5 and memcmp(p, b"false", 5) == 0:
        return p + 5
    return skip_number(p, walk.end)


cdef Text skip_value(Text p, Walk *walk) noexcept nogil:
    """What is behind the value at ``p``; NULL: not understood."""
    cdef unsigned char closers[NESTING_MAX]
    cdef int depth = 0
    cdef unsigned char closer = 0  # of what is open; of nothing, none that occurs
    while True:
        if p == walk.end:
            return NULL
        if opens_text(p, walk):  # most values are that, or a fact
            p = skip_string(p + 6, walk)
            if p == NULL or walk.end - p < 2 or p[1] != c'}':
                return NULL
            p += 2
        elif is_fact(p, walk):
            p += FACT_SIZE
        elif p[0] == c'"':
            p = skip_string(p + 1, walk)
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
            if p == walk.end:
                return NULL
            if p[0] != closer:
                if closer == c'}':
                    p = skip_name(p, walk)
                    if p == NULL:
                        return NULL
                continue
        else:
            p = skip_literal(p, walk)
            if p == NULL:
                return NULL
        if depth == 0:
            return p
        while p < walk.end and p[0] == closer:
            depth -= 1
            closer = closers[depth]
            p += 1
            if depth == 0:
                return p
        if p == walk.end or p[0] != c',':
            return NULL
        p += 1
        if closer == c'}':
            p = skip_name(p, walk)
            if p == NULL:
                return NULL


# -- pages ---------------------------------------------------------------------------------------


cdef class PageItems:
    """Items that lie in the body of their page, as a sequence of ``Raw``; keeps the body alive."""

    cdef Py_buffer body
    cdef Span *spans
    cdef Py_ssize_t size
    cdef Py_ssize_t room

    index = Sequence.index
    count = Sequence.count

    def __dealloc__(self):
        PyMem_Free(self.spans)
        PyBuffer_Release(&self.body)

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._part(range(self.size)[index])
        return self.raw(range(self.size)[index])

    def __iter__(self):
        cdef Py_ssize_t i
        for i in range(self.size):
            yield self.raw(i)

    cdef object raw(self, Py_ssize_t i):
        """A copy of an item."""
        cdef Span *span = &self.spans[i]
        text = PyBytes_FromStringAndSize(<char *>self.body.buf + span.start, span.end - span.start)
        return Raw(text)

    cdef PageItems _part(self, places):
        cdef PageItems part
        cdef Py_ssize_t i
        if len(places) == self.size and places.step == 1:
            return self
        part = _items_of(self.body.obj)
        for i in places:
            part._add(self.spans[i])
        return part

    cdef inline int _add(self, Span span) except -1:
        cdef Py_ssize_t room
        cdef void *grown
        if self.size == self.room:
            room = max(2 * self.room, <Py_ssize_t>SPANS_MIN)
            grown = PyMem_Realloc(self.spans, room * sizeof(Span))
            if grown == NULL:
                raise MemoryError(f"no memory for {room} items of a page")
            self.spans = <Span *>grown
            self.room = room
        self.spans[self.size] = span
        self.size += 1
        return 0

    cdef bint _find(self, Span *elements) except -1:
        """Find the items, and what there is of them between two brackets; False: handed back."""
        cdef Text begin = <Text>self.body.buf, end = begin + self.body.len, p = begin, name
        cdef Walk walk
        walk.end = end
        enter_block(&walk, begin)
        if p == end or p[0] != c'{':
            return False
        while True:
            name = p + 1
            p = skip_name(name, &walk)
            if p == NULL or memchr(name, c'\\', p - name) != NULL:
                return False
            if p - name == 8 and memcmp(name, b'"Items":', 8) == 0:
                if self.size or p == end or p[0] != c'[':
                    return False
                elements.start = p + 1 - begin
                p = self._find_elements(p, &walk)
                if p == NULL:
                    return False
                elements.end = p - begin
                p += 1
            else:
                p = skip_value(p, &walk)
            if p == NULL or p == end:
                return False
            if p[0] == c'}':
                return self.size > 0 and p + 1 == end
            if p[0] != c',':
                return False

    cdef Text _find_elements(self, Text p, Walk *walk) except? NULL:
        """The bracket that closes the array of items at ``p``; NULL: handed back, or an error."""
        cdef Text begin = <Text>self.body.buf
        cdef Span span
        while True:
            span.start = p + 1 - begin
            p = skip_value(p + 1, walk)
            if p == NULL or p == walk.end:
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
