# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled tier of the direct path: from the JSON text of an item to the bytes of its record.

One walk over an item's text writes its document, escaped as the string that it becomes, and finds
its key; no Python object is made per attribute. The walk understands what DynamoDB sends:
compact JSON of attribute values. Everything else it *hands back* (white space, a member twice, a
number where text is expected, invalid UTF-8, half of a surrogate pair, deeper nesting than
``DEPTH_MAX``, a key of another type): the portable tier does that one item, and it alone knows of
errors. So one rule holds for every line below: what is accepted gives the portable tier's bytes.

Memory: the text lies between ``p`` and ``end``, and ``end`` is looked at before every read. No byte
of it becomes more than ``GROWTH_MAX`` bytes of output, so room that is made before an item needs no
look while the item is written. Nothing recurses.

``page_items.pxi`` is the second part of this module: it finds the items of a page before that.
``tiers`` chooses; ``tests/fuzz`` holds both tiers together on damaged pages, under a sanitizer.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(object)

ctypedef const unsigned char *Text

cdef enum:
    DEPTH_MAX = 64  # DynamoDB allows 32 levels
    MEMBERS_MAX = 1024  # of one map: each new name is compared with all before it
    NAMES_MAX = 65536  # of all the maps that are open at once
    RENAMED_MAX = 128  # attributes of an item some of which change their names, each is compared too
    MEMBER_SIZE_MIN = 8  # bytes of the shortest member
    GROWTH_MAX = 3  # the four bytes of 😀 become two escapes of six
    SLACK = 64  # what the opening of a text may need, and copies of whole words write too much
    KEYS_MAX = 2

cdef enum Kind:
    STRING  # S, N, B: their content is a string
    NUMBER  # N in a plain document: the content of the string stands there bare
    FACT  # BOOL, NULL
    TEXTS  # SS, BS, NS
    NUMBERS  # NS in a plain document
    MAP
    LIST
    UNKNOWN

cdef enum Escaping:
    NESTED  # of a JSON string inside of a JSON string
    PLAIN  # of a JSON string, with characters beyond U+FFFF as Jackson writes them to bytes
    TEXT  # of a JSON string inside of a text: those characters as they are
    NONE  # the characters themselves

cdef enum Form:  # model.text_marks.TextForm
    JSON
    COUNTED
    BARE

cdef struct Name:  # of a member that was written: where, and a digest for quick comparison
    size_t start
    size_t size
    uint64_t digest

cdef struct Frame:  # a map or a list that is open
    unsigned char closer
    size_t first_name
    uint64_t seen  # of a map: a bit for each name, which others may share

cdef struct KeyRule:  # a key attribute: its name as it stands in the document, its type letter
    Text name
    size_t name_size
    unsigned char letter

cdef struct Rules:
    Escaping document
    bint is_plain
    bint sanitises
    int keys
    KeyRule key[KEYS_MAX]

cdef struct Workspace:  # what is written, and the names of open maps
    unsigned char *out
    size_t out_size  # of the document; the key is written behind it
    size_t out_room
    unsigned char *renamed
    size_t renamed_room
    Name *names
    size_t names_room  # in bytes, as all of them
    size_t names_count

cdef struct Found:
    Text document  # in the workspace
    size_t document_size
    Text key[KEYS_MAX]  # in the item's text, behind the opening quote


# -- characters ----------------------------------------------------------------------------------


cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #ifdef __SSE2__
    #include <emmintrin.h>
    #endif
    enum { WORD = 16 };

    /* Of functions that each machine does in its own way. What counts code blocks (tests/effort)
       leaves them out, so as to count the same everywhere. */
    #if defined(__has_attribute) && defined(__GNUC__)
    #if __has_attribute(no_sanitize_coverage)
    #define AT_ONCE __attribute__((no_sanitize_coverage)) static inline
    #endif
    #endif
    #ifndef AT_ONCE
    #define AT_ONCE static inline
    #endif

    #ifndef __SSE2__
    /* How many of eight bytes stand before the first quote, backslash, control character or byte
       that is not ASCII; 8: all of them. */
    AT_ONCE int plain_of_eight(const unsigned char *p) {
    #if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        const uint64_t ones = 0x0101010101010101;
        uint64_t word;
        memcpy(&word, p, 8);
        uint64_t quotes = word ^ (ones * 0x22), backslashes = word ^ (ones * 0x5C);
        uint64_t found = (word - ones * 0x20) | (quotes - ones) | (backslashes - ones) | word;
        /* A borrow can only be wrong about bytes behind one that is found. */
        found &= ones * 0x80;
        return found ? __builtin_ctzll(found) >> 3 : 8;
    #else
        int i = 0;
        while (i < 8 && p[i] >= 0x20 && p[i] < 0x80 && p[i] != 0x22 && p[i] != 0x5C) i++;
        return i;
    #endif
    }
    #endif

    /* The same of a word. */
    AT_ONCE int plain_bytes(const unsigned char *p) {
    #ifdef __SSE2__
        const __m128i text = _mm_loadu_si128((const __m128i *)p);
        __m128i found = _mm_cmplt_epi8(text, _mm_set1_epi8(0x20)); /* signed: beyond ASCII, too */
        found = _mm_or_si128(found, _mm_cmpeq_epi8(text, _mm_set1_epi8(0x22)));
        found = _mm_or_si128(found, _mm_cmpeq_epi8(text, _mm_set1_epi8(0x5C)));
        return __builtin_ctz(_mm_movemask_epi8(found) | 1 << WORD);
    #else
        const int plain = plain_of_eight(p);
        return plain < 8 ? plain : 8 + plain_of_eight(p + 8);
    #endif
    }
    """
    enum:
        WORD
    int plain_bytes(Text p) noexcept nogil


cdef inline bint is_digit(unsigned char c) noexcept nogil:
    return c'0' <= c <= c'9'


cdef inline int hex_digit(unsigned char c) noexcept nogil:
    if is_digit(c):
        return c - c'0'
    c |= 0x20
    if c'a' <= c <= c'f':
        return c - c'a' + 10
    return -1


cdef inline long hex_unit(Text p) noexcept nogil:
    """Four hexadecimal digits; -1: they are none. All four can be read."""
    cdef long unit = 0
    cdef int i, digit
    for i in range(4):
        digit = hex_digit(p[i])
        if digit < 0:
            return -1
        unit = unit * 16 + digit
    return unit


cdef Text read_escape(Text p, Text end, uint32_t *character) noexcept nogil:
    """What a backslash at ``p`` stands for; NULL: not understood. Returns what is behind it."""
    cdef long unit, low
    if end - p < 2:
        return NULL
    if p[1] != c'u':
        if p[1] == c'"' or p[1] == c'\\' or p[1] == c'/':
            character[0] = p[1]
        elif p[1] == c'b':
            character[0] = 8
        elif p[1] == c't':
            character[0] = 9
        elif p[1] == c'n':
            character[0] = 10
        elif p[1] == c'f':
            character[0] = 12
        elif p[1] == c'r':
            character[0] = 13
        else:
            return NULL
        return p + 2
    if end - p < 6:
        return NULL
    unit = hex_unit(p + 2)
    if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
        return NULL
    if unit < 0xD800 or unit > 0xDFFF:
        character[0] = unit
        return p + 6
    if end - p < 12 or p[6] != c'\\' or p[7] != c'u':
        return NULL
    low = hex_unit(p + 8)
    if low < 0xDC00 or low > 0xDFFF:
        return NULL
    character[0] = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
    return p + 12


cdef inline bint is_continuation(unsigned char c) noexcept nogil:
    return (c & 0xC0) == 0x80


cdef Text read_beyond_ascii(Text p, Text end, uint32_t *character) noexcept nogil:
    """A character of two to four bytes of UTF-8 at ``p``; NULL: it is none (RFC 3629)."""
    cdef uint32_t found
    if end - p >= 2 and 0xC2 <= p[0] <= 0xDF and is_continuation(p[1]):
        character[0] = (<uint32_t>(p[0] & 0x1F) << 6) | (p[1] & 0x3F)
        return p + 2
    if end - p >= 3 and (p[0] & 0xF0) == 0xE0:
        if not (is_continuation(p[1]) and is_continuation(p[2])):
            return NULL
        found = (<uint32_t>(p[0] & 0x0F) << 12) | (<uint32_t>(p[1] & 0x3F) << 6) | (p[2] & 0x3F)
        if found < 0x800 or 0xD800 <= found <= 0xDFFF:
            return NULL
        character[0] = found
        return p + 3
    if end - p >= 4 and (p[0] & 0xF8) == 0xF0:
        if not (is_continuation(p[1]) and is_continuation(p[2]) and is_continuation(p[3])):
            return NULL
        found = (<uint32_t>(p[0] & 0x07) << 18) | (<uint32_t>(p[1] & 0x3F) << 12)
        found |= (<uint32_t>(p[2] & 0x3F) << 6) | (p[3] & 0x3F)
        if found < 0x10000 or found > 0x10FFFF:
            return NULL
        character[0] = found
        return p + 4
    return NULL


cdef inline unsigned char *put_unit(unsigned char *out, uint32_t unit) noexcept nogil:
    """``uXXXX``, as Jackson writes it."""
    cdef int i
    cdef unsigned char digit
    out[0] = c'u'
    for i in range(4):
        digit = (unit >> (12 - 4 * i)) & 15
        out[1 + i] = digit + (c'0' if digit < 10 else c'A' - 10)
    return out + 5


cdef unsigned char *put_character(
    unsigned char *out, uint32_t character, Escaping escaping
) noexcept nogil:
    """Write a character of a string."""
    cdef unsigned char letter = 0
    if character < 0x80:
        if escaping == NONE or (
            character >= 0x20 and character != c'"' and character != c'\\'
        ):
            out[0] = character
            return out + 1
        out[0] = c'\\'
        out += 1
        if escaping == NESTED:
            out[0] = c'\\'
            out += 1
        if character == c'"' or character == c'\\':
            if escaping == NESTED:
                out[0] = c'\\'
                out += 1
            letter = character
        elif character == 8:
            letter = c'b'
        elif character == 9:
            letter = c't'
        elif character == 10:
            letter = c'n'
        elif character == 12:
            letter = c'f'
        elif character == 13:
            letter = c'r'
        else:
            return put_unit(out, character)
        out[0] = letter
        return out + 1
    if character < 0x800:
        out[0] = 0xC0 | (character >> 6)
        out[1] = 0x80 | (character & 0x3F)
        return out + 2
    if character < 0x10000:
        out[0] = 0xE0 | (character >> 12)
        out[1] = 0x80 | ((character >> 6) & 0x3F)
        out[2] = 0x80 | (character & 0x3F)
        return out + 3
    if escaping == TEXT or escaping == NONE:
        out[0] = 0xF0 | (character >> 18)
        out[1] = 0x80 | ((character >> 12) & 0x3F)
        out[2] = 0x80 | ((character >> 6) & 0x3F)
        out[3] = 0x80 | (character & 0x3F)
        return out + 4
    # Escaped once, also inside: the inner text has the character itself.
    character -= 0x10000
    out[0] = c'\\'
    out = put_unit(out + 1, 0xD800 + (character >> 10))
    out[0] = c'\\'
    return put_unit(out + 1, 0xDC00 + (character & 0x3FF))


cdef Text copy_string(Text p, Text end, unsigned char **to, Escaping escaping) noexcept nogil:
    """Copy a string whose opening quote is behind us, in the one form that it has in records.

    Returns what is behind its closing quote; NULL: not understood. Neither quote is written.
    """
    cdef unsigned char *out = to[0]
    cdef uint32_t character = 0
    cdef unsigned char c
    cdef int plain
    while True:
        while end - p >= WORD:
            memcpy(out, p, WORD)
            plain = plain_bytes(p)
            p += plain
            out += plain
            if plain < WORD:
                break
        while True:
            if p == end:
                return NULL
            c = p[0]
            if c == c'"':
                to[0] = out
                return p + 1
            if c < 0x20:
                return NULL
            if c == c'\\' or c >= 0x80:
                break
            out[0] = c
            p += 1
            out += 1
        if c == c'\\':
            p = read_escape(p, end, &character)
        else:
            p = read_beyond_ascii(p, end, &character)
        if p == NULL:
            return NULL
        out = put_character(out, character, escaping)


cdef inline Text copy_content(
    Text p, Text end, unsigned char **to, Escaping escaping
) noexcept nogil:
    """As ``copy_string``, in place for the many strings that are short and plain."""
    cdef unsigned char *out = to[0]
    cdef int plain
    if end - p >= WORD:
        memcpy(out, p, WORD)
        plain = plain_bytes(p)
        p += plain
        out += plain
        if plain < WORD and p[0] == c'"':
            to[0] = out
            return p + 1
    # Not the address of what others keep in a register.
    p = copy_string(p, end, &out, escaping)
    to[0] = out
    return p


cdef inline Text skip_digits(Text p, Text end) noexcept nogil:
    """What is behind one digit or more; NULL: there is none."""
    if p == end or not is_digit(p[0]):
        return NULL
    while p < end and is_digit(p[0]):
        p += 1
    return p


cdef inline Text skip_number(Text p, Text end) noexcept nogil:
    """What is behind a JSON number at ``p``; NULL: there is none."""
    if p < end and p[0] == c'-':
        p += 1
    if p < end and p[0] == c'0':
        p += 1
    else:
        p = skip_digits(p, end)
    if p != NULL and p < end and p[0] == c'.':
        p = skip_digits(p + 1, end)
    if p != NULL and p < end and (p[0] | 0x20) == c'e':
        p += 1
        if p < end and (p[0] == c'+' or p[0] == c'-'):
            p += 1
        p = skip_digits(p, end)
    return p


cdef Text copy_number(Text p, Text end, unsigned char **to) noexcept nogil:
    """Copy the bare content of a string that is a JSON number; as ``copy_string`` otherwise."""
    cdef Text start = p
    p = skip_number(p, end)
    if p == NULL or p == end or p[0] != c'"':
        return NULL
    memcpy(to[0], start, p - start)
    to[0] += p - start
    return p + 1


# -- values --------------------------------------------------------------------------------------


cdef inline Text read_type(Text p, Text end, Kind *kind, int *letters) noexcept nogil:
    """The type letters of a value at ``p``: ``"SS":``; returns what is behind the colon, or NULL.

    ``letters`` says how many there are.
    """
    if end - p < 5 or p[0] != c'"':
        return NULL
    if p[2] == c'"':
        letters[0] = 1
        if p[1] == c'S' or p[1] == c'B':
            kind[0] = STRING
        elif p[1] == c'N':
            kind[0] = NUMBER
        elif p[1] == c'M':
            kind[0] = MAP
        elif p[1] == c'L':
            kind[0] = LIST
        else:
            return NULL
    elif p[3] == c'"' and p[2] == c'S':
        letters[0] = 2
        if p[1] == c'S' or p[1] == c'B':
            kind[0] = TEXTS
        elif p[1] == c'N':
            kind[0] = NUMBERS
        else:
            return NULL
    elif end - p >= 7 and (memcmp(p, b'"BOOL"', 6) == 0 or memcmp(p, b'"NULL"', 6) == 0):
        letters[0] = 4
        kind[0] = FACT
    else:
        return NULL
    p += letters[0] + 2
    if p[0] != c':':
        return NULL
    return p + 1


cdef inline unsigned char *put_quote(unsigned char *out, Escaping escaping) noexcept nogil:
    """A quote of the document, which is nested or a text."""
    out[0] = c'\\'
    out += escaping == NESTED
    out[0] = c'"'
    return out + 1


cdef inline unsigned char *put_type(
    unsigned char *out, Text name, int letters, Escaping escaping
) noexcept nogil:
    """Open a typed value: ``{"ss":`` for the letters ``SS``."""
    cdef int i
    if letters == 1 and escaping == NESTED:  # nearly all
        memcpy(out, b'{\\"s\\":', 7)
        out[3] = name[0] | 0x20
        return out + 7
    out[0] = c'{'
    out = put_quote(out + 1, escaping)
    for i in range(letters):
        out[i] = name[i] | 0x20
    out = put_quote(out + letters, escaping)
    out[0] = c':'
    return out + 1


cdef inline Text copy_text(
    Text p, Text end, unsigned char **to, Escaping escaping
) noexcept nogil:
    """A whole string at ``p``, with its quotes."""
    if p == end or p[0] != c'"':
        return NULL
    to[0] = put_quote(to[0], escaping)
    p = copy_content(p + 1, end, to, escaping)
    to[0] = put_quote(to[0], escaping)
    return p


cdef inline Text copy_fact(Text p, Text end, unsigned char **to, bint is_null) noexcept nogil:
    """``true`` or ``false``; ``is_null``: written as the null of a plain document."""
    cdef int size = 0
    if end - p >= 4 and memcmp(p, b"true", 4) == 0:
        size = 4
    elif end - p >= 5 and memcmp(p, b"false", 5) == 0:
        size = 5
    else:
        return NULL
    if is_null:
        memcpy(to[0], b"null", 4)
        to[0] += 4
    else:
        memcpy(to[0], p, size)
        to[0] += size
    return p + size


cdef Text copy_texts(
    Text p, Text end, unsigned char **to, bint are_bare, Escaping escaping
) noexcept nogil:
    """An array of strings at ``p``; ``are_bare``: numbers of a plain document."""
    cdef bint is_last
    if p == end or p[0] != c'[':
        return NULL
    to[0][0] = c'['
    to[0] += 1
    p += 1
    if p < end and p[0] == c']':
        to[0][0] = c']'
        to[0] += 1
        return p + 1
    while True:
        p = copy_bare(p, end, to) if are_bare else copy_text(p, end, to, escaping)
        if p == NULL or p == end or (p[0] != c',' and p[0] != c']'):
            return NULL
        is_last = p[0] == c']'
        to[0][0] = p[0]
        to[0] += 1
        p += 1
        if is_last:
            return p


cdef inline Text copy_bare(Text p, Text end, unsigned char **to) noexcept nogil:
    """A string at ``p`` that holds a number, without its quotes."""
    cdef unsigned char *out = to[0]
    if p == end or p[0] != c'"':
        return NULL
    p = copy_number(p + 1, end, &out)
    to[0] = out
    return p


cdef inline Text copy_scalar(
    Text p, Text end, unsigned char **to, Kind kind, Text name, const Rules *rules
) noexcept nogil:
    """The content of a value that holds no other values."""
    cdef bint is_plain = rules.is_plain
    cdef unsigned char *out = to[0]
    if kind == STRING or (kind == NUMBER and not is_plain):
        return copy_text(p, end, to, rules.document)
    if kind == NUMBER:
        return copy_bare(p, end, to)
    if kind == FACT:
        return copy_fact(p, end, to, is_plain and name[0] == c'N')
    p = copy_texts(p, end, &out, is_plain and kind == NUMBERS, rules.document)
    to[0] = out
    return p


# -- names ---------------------------------------------------------------------------------------


cdef inline uint64_t digest_of(Text name, size_t size) noexcept nogil:
    """Equal for equal names; mostly different for others."""
    cdef uint64_t first = 0, last = 0
    if size >= 8:
        memcpy(&first, name, 8)
        memcpy(&last, name + size - 8, 8)
    elif size >= 4:
        memcpy(&first, name, 4)
        memcpy(&last, name + size - 4, 4)
    elif size:
        first = name[0]
        last = <uint64_t>name[size >> 1] << 8 | name[size - 1]
    return first ^ (last << 29 | last >> 35) ^ (size * <uint64_t>0x9E3779B97F4A7C15)


cdef inline bint add_name(
    Workspace *space, Frame *frame, size_t start, size_t size
) noexcept nogil:
    """Note the name of a member; False: the map has it already, or has too many."""
    cdef uint64_t digest = digest_of(space.out + start, size)
    cdef uint64_t bit = <uint64_t>1 << (digest * <uint64_t>0x9E3779B97F4A7C15 >> 58)
    cdef size_t i
    cdef Name *name
    if space.names_count - frame.first_name >= MEMBERS_MAX:
        return False
    if (space.names_count + 1) * sizeof(Name) > space.names_room:
        return False
    if frame.seen & bit:
        for i in range(frame.first_name, space.names_count):
            name = &space.names[i]
            if name.digest == digest and name.size == size:
                if memcmp(space.out + name.start, space.out + start, size) == 0:
                    return False
    frame.seen |= bit
    name = &space.names[space.names_count]
    name.start = start
    name.size = size
    name.digest = digest
    space.names_count += 1
    return True


cdef inline Text copy_name(
    Text p, Text end, unsigned char **to, Workspace *space, Frame *frame, Escaping escaping
) noexcept nogil:
    """The name of a member at ``p``, with its colon; ``frame`` is its map's."""
    cdef size_t start
    if p == end or p[0] != c'"':
        return NULL
    to[0] = put_quote(to[0], escaping)
    start = to[0] - space.out
    p = copy_content(p + 1, end, to, escaping)
    if p == NULL or p == end or p[0] != c':':
        return NULL
    if not add_name(space, frame, start, to[0] - space.out - start):
        return NULL
    to[0] = put_quote(to[0], escaping)
    to[0][0] = c':'
    to[0] += 1
    return p + 1


cdef inline int key_of(const Rules *rules, const Workspace *space) noexcept nogil:
    """Which key attribute has the name that was added last; -1: none."""
    cdef const Name *name = &space.names[space.names_count - 1]
    cdef int i
    for i in range(rules.keys):
        if rules.key[i].name_size == name.size:
            if memcmp(rules.key[i].name, space.out + name.start, name.size) == 0:
                return i
    return -1


# -- items ---------------------------------------------------------------------------------------


cdef bint walk(
    Workspace *space, const Rules *rules, Text p, Text end, Found *found
) noexcept nogil:
    """Write the document of the item between ``p`` and ``end``; False: not understood.

    There is room for it. ``found.key`` is where the key attributes' strings begin.
    """
    cdef Frame frames[DEPTH_MAX]
    cdef int depth = 0, letters = 0, i, key
    cdef Kind kind = UNKNOWN
    cdef unsigned char *out = space.out
    cdef bint is_fresh = True
    cdef Text name
    for i in range(rules.keys):
        found.key[i] = NULL
    space.names_count = 0
    frames[0].closer = c'}'
    frames[0].first_name = 0
    frames[0].seen = 0
    if p == end or p[0] != c'{':
        return False
    out[0] = c'{'
    out += 1
    p += 1
    while True:
        if p == end:
            return False
        if not (is_fresh and p[0] == frames[depth].closer):
            is_fresh = False
            key = -1
            if frames[depth].closer == c'}':
                p = copy_name(p, end, &out, space, &frames[depth], rules.document)
                if p == NULL:
                    return False
                if depth == 0:
                    key = key_of(rules, space)
            if p == end or p[0] != c'{':
                return False
            name = p + 2
            p = read_type(p + 1, end, &kind, &letters)
            if p == NULL:
                return False
            if not rules.is_plain:
                out = put_type(out, name, letters, rules.document)
            if key >= 0:
                if letters != 1 or name[0] != rules.key[key].letter:
                    return False
                found.key[key] = p + 1
            if kind == MAP or kind == LIST:
                depth += 1
                if depth == DEPTH_MAX or p == end:
                    return False
                if p[0] != (c'{' if kind == MAP else c'['):
                    return False
                out[0] = p[0]
                out += 1
                p += 1
                frames[depth].closer = c'}' if kind == MAP else c']'
                frames[depth].first_name = space.names_count
                frames[depth].seen = 0
                is_fresh = True
                continue
            p = copy_scalar(p, end, &out, kind, name, rules)
            if p == NULL or p == end or p[0] != c'}':
                return False
            p += 1
            if not rules.is_plain:
                out[0] = c'}'
                out += 1
        while p < end and p[0] == frames[depth].closer:
            out[0] = p[0]
            out += 1
            p += 1
            if depth == 0:
                space.out_size = out - space.out
                found.document = space.out
                found.document_size = space.out_size
                return p == end
            space.names_count = frames[depth].first_name
            depth -= 1
            if p == end or p[0] != c'}':
                return False
            p += 1
            if not rules.is_plain:
                out[0] = c'}'
                out += 1
        if p == end or p[0] != c',':
            return False
        out[0] = c','
        out += 1
        p += 1
        is_fresh = False


# -- names that change ---------------------------------------------------------------------------


cdef inline bint is_letter(unsigned char c) noexcept nogil:
    return c == c'_' or c'a' <= (c | 0x20) <= c'z'


cdef inline bint is_clean(Text name, size_t size) noexcept nogil:
    """Whether ``naming.sanitised_attribute`` leaves a name as it is."""
    cdef size_t i
    if size == 0 or not is_letter(name[0]):
        return size == 0
    for i in range(1, size):
        if not is_letter(name[i]) and not is_digit(name[i]):
            return False
    return True


cdef size_t put_clean(
    unsigned char *out, Text name, size_t size, Escaping escaping
) noexcept nogil:
    """What ``naming.sanitised_attribute`` makes of a name; returns how many bytes that has.

    The name is as ``copy_string`` wrote it; what is escaped is none of the clean ones.
    """
    cdef Text p = name, end = name + size
    cdef size_t written = 0
    cdef bint is_first = True
    while p < end:
        if p[0] == c'\\' and escaping == TEXT:
            p += 6 if p[1] == c'u' else 2
        elif p[0] == c'\\':
            if p[1] == c'u':
                p += 12  # a pair of surrogates, escaped once
            elif p[2] == c'u':
                p += 7
            elif p[2] == c'\\':
                p += 4
            else:
                p += 3
        else:
            if is_letter(p[0]) or (not is_first and is_digit(p[0])):
                out[written] = p[0]
                written += 1
            p += 1
        is_first = False
    return written


cdef bint is_wanted_once(
    Workspace *space, size_t index, Text clean, size_t size, unsigned char *other,
    Escaping escaping,
) noexcept nogil:
    """Whether no attribute of the item has this name, and no other one would get it."""
    cdef size_t i, other_size
    cdef Name *name
    for i in range(space.names_count):
        name = &space.names[i]
        if name.size < size:
            continue
        if name.size == size and memcmp(space.out + name.start, clean, size) == 0:
            return False
        if i != index:
            other_size = put_clean(other, space.out + name.start, name.size, escaping)
            if other_size == size and memcmp(other, clean, size) == 0:
                return False
    return True


cdef void rename(Workspace *space, Found *found, Escaping escaping) noexcept nogil:
    """The document with sanitised top-level names, as ``naming.AttributeSanitiser`` does it.

    There is room for it, and behind it for two names.
    """
    cdef unsigned char *out = space.renamed
    cdef unsigned char *clean = out + found.document_size + SLACK
    cdef unsigned char *other = clean + found.document_size + SLACK
    cdef size_t copied = 0, i, size
    cdef Name *name
    for i in range(space.names_count):
        name = &space.names[i]
        if is_clean(space.out + name.start, name.size):
            continue
        size = put_clean(clean, space.out + name.start, name.size, escaping)
        if size == 0 or not is_wanted_once(space, i, clean, size, other, escaping):
            continue
        memcpy(out, space.out + copied, name.start - copied)
        out += name.start - copied
        memcpy(out, clean, size)
        out += size
        copied = name.start + name.size
    memcpy(out, space.out + copied, found.document_size - copied)
    found.document_size = (out - space.renamed) + (found.document_size - copied)
    found.document = space.renamed


cdef bint are_names_clean(Workspace *space) noexcept nogil:
    cdef size_t i
    for i in range(space.names_count):
        if not is_clean(space.out + space.names[i].start, space.names[i].size):
            return False
    return True


include "page_items.pxi"


# -- records -------------------------------------------------------------------------------------


cdef class PageScanner:
    """Writes records of one table; made for a page, used by one thread.

    ``key_names`` are the key attributes' names as they stand in the document of a record,
    ``key_letters`` their types. A key is each of ``key_heads`` with its part behind it, and
    ``key_tail``. ``key_form`` and ``value_form`` are names of ``TextForm``: how the parts of the key
    stand there, and how the document does in the value. Methods that are not for Python answer None
    for what is handed back.
    """

    cdef Rules rules
    cdef Workspace space
    cdef tuple key_names
    cdef tuple key_heads
    cdef bytes key_tail
    cdef Form key_form
    cdef Form value_form

    def __cinit__(
        self,
        tuple key_names,
        str key_letters,
        tuple key_heads,
        bytes key_tail,
        *,
        bint is_plain,
        bint sanitises,
        str key_form="JSON",
        str value_form="JSON",
    ):
        cdef int i
        if not 1 <= len(key_names) == len(key_letters) == len(key_heads) <= KEYS_MAX:
            raise ValueError(f"a key of {len(key_names)} parts, expected 1 or 2")
        self.key_names = key_names
        self.key_heads = key_heads
        self.key_tail = key_tail
        self.key_form = _FORMS[key_form]
        self.value_form = _FORMS[value_form]
        self.rules.document = NESTED if self.value_form == JSON else TEXT
        self.rules.is_plain = is_plain
        self.rules.sanitises = sanitises
        self.rules.keys = len(key_names)
        for i in range(self.rules.keys):
            name = <bytes?>key_names[i]
            self.rules.key[i].name = <Text>PyBytes_AS_STRING(name)
            self.rules.key[i].name_size = PyBytes_GET_SIZE(name)
            self.rules.key[i].letter = ord(key_letters[i])

    def __dealloc__(self):
        free(self.space.out)
        free(self.space.renamed)
        free(self.space.names)

    def items(self, items, bytes head, bytes tail, portable):
        """Records of all items, those handed back by ``portable(item)``.

        Raises:
            ConvertError: ``portable`` says so.
        """
        cdef list records = []
        if isinstance(items, PageItems):
            self._page(<PageItems>items, head, tail, portable, records)
            return records
        for item in items:
            record = self.record(item, head, tail)
            records.append(portable(item) if record is None else record)
        return records

    cdef int _page(
        self, PageItems items, bytes head, bytes tail, portable, list records
    ) except -1:
        """The same for items that lie in their page; no object is made of them."""
        cdef Text text = <Text>items.body.buf
        cdef Span *span
        cdef Py_ssize_t i
        for i in range(items.size):
            span = &items.spans[i]
            record = self._record(text + span.start, text + span.end, head, tail)
            records.append(portable(items.raw(i)) if record is None else record)
        return 0

    cdef tuple record(self, item, bytes head, bytes tail):
        """Key and value of an item: ``head``, the document, ``tail``."""
        cdef Py_buffer view
        PyObject_GetBuffer(item, &view, PyBUF_SIMPLE)
        try:
            return self._record(<Text>view.buf, <Text>view.buf + view.len, head, tail)
        finally:
            PyBuffer_Release(&view)

    cdef tuple _record(self, Text text, Text end, bytes head, bytes tail):
        cdef Found found
        if not self._walk(text, end, &found):
            return None
        key = self._key(end, &found)
        return None if key is None else _pair(key, self._value(&found, head, tail))

    def changes(self, records, mould_of, portable, *, identity_of, bint wants_old):
        """Records of a stream's page, with the tombstones of its deletions.

        ``mould_of(record)`` (see ``payload.Mould``) is what is constant in the values of all
        records that say the same happened at the same time, ``identity_of(record)`` says by whom
        (None: it does not matter); ``portable(record, mould)`` writes those handed back.

        Raises:
            ConvertError: one of them says so.
        """
        cdef list written = []
        cdef dict moulds = {}
        cdef tuple encoded, parts
        for record in records:
            change = record.change
            identity = None if identity_of is None else identity_of(record)
            alike = (record.event_name, change.approximate_creation_date_time, identity)
            mould = moulds.get(alike)
            if mould is None:
                mould = moulds[alike] = mould_of(record)
                if not isinstance(mould, tuple):
                    raise TypeError(f"a mould is {type(mould).__name__}, expected a tuple")
            parts = <tuple>mould  # unchecked: a subclass
            encoded = self._change(change, parts, wants_old)
            if encoded is None:
                encoded = portable(record, mould)
            written.append(encoded)
            if parts[3]:
                written.append(_pair(encoded[0], None))
        return written

    cdef tuple _change(self, change, tuple mould, bint wants_old):
        """Key and value of a record, poured into its ``payload.Mould``."""
        cdef bytes head = mould[0], tail = mould[1]
        image = change.new_image or change.keys
        if wants_old:
            old = change.old_image
            if old:
                document = self.document(old)
                if document is None:
                    return None
                tail = mould[2](document)
        if not mould[4]:
            return self.record(image, head, tail)
        key = self.key(image)
        return None if key is None else _pair(key, head + tail)

    cdef bytes key(self, item):
        """The key of an item."""
        cdef Py_buffer view
        cdef Found found
        cdef Text end
        PyObject_GetBuffer(item, &view, PyBUF_SIMPLE)
        try:
            end = <Text>view.buf + view.len
            return self._key(end, &found) if self._walk(<Text>view.buf, end, &found) else None
        finally:
            PyBuffer_Release(&view)

    cdef bytes document(self, item):
        """The document of an item, as it stands in a value."""
        cdef Py_buffer view
        cdef Found found
        cdef Text end
        PyObject_GetBuffer(item, &view, PyBUF_SIMPLE)
        try:
            end = <Text>view.buf + view.len
            is_walked = self._walk(<Text>view.buf, end, &found)
            return self._value(&found, b"", b"") if is_walked else None
        finally:
            PyBuffer_Release(&view)

    cdef bint _walk(self, Text text, Text end, Found *found) except -1:
        cdef Workspace *space = &self.space
        cdef size_t size = end - text
        cdef size_t names = min(size // MEMBER_SIZE_MIN + 1, <size_t>NAMES_MAX)
        # The document and, behind it, the key.
        space.out = <unsigned char *>_with_room(
            space.out, &space.out_room, 2 * GROWTH_MAX * size + SLACK
        )
        space.names = <Name *>_with_room(space.names, &space.names_room, names * sizeof(Name))
        if not walk(space, &self.rules, text, end, found):
            return False
        assert found.document_size <= GROWTH_MAX * size + SLACK
        if self.rules.sanitises and not are_names_clean(space):
            if space.names_count > RENAMED_MAX:
                return False
            space.renamed = <unsigned char *>_with_room(
                space.renamed, &space.renamed_room, 3 * (found.document_size + SLACK)
            )
            rename(space, found, self.rules.document)
        return True

    cdef bytes _key(self, Text end, Found *found):
        """The key of an item that was walked; None: it has none of its table."""
        cdef unsigned char *strings[KEYS_MAX + 1]
        cdef unsigned char *out
        cdef Py_ssize_t size = PyBytes_GET_SIZE(self.key_tail)
        cdef int i
        cdef bytes head
        cdef Escaping escaping = PLAIN if self.key_form == JSON else NONE
        strings[0] = self.space.out + self.space.out_size
        for i in range(self.rules.keys):
            if found.key[i] == NULL:
                return None
            strings[i + 1] = strings[i]
            if copy_string(found.key[i], end, &strings[i + 1], escaping) == NULL:
                return None
            size += PyBytes_GET_SIZE(<bytes>self.key_heads[i])
            size += text_size(self.key_form, strings[i + 1] - strings[i])
        key = PyBytes_FromStringAndSize(NULL, size)
        out = <unsigned char *>PyBytes_AS_STRING(key)
        for i in range(self.rules.keys):
            head = <bytes>self.key_heads[i]
            out = _put(out, <Text>PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
            out = put_text(out, self.key_form, strings[i], strings[i + 1] - strings[i])
        _put(out, <Text>PyBytes_AS_STRING(self.key_tail), PyBytes_GET_SIZE(self.key_tail))
        return key

    cdef bytes _value(self, Found *found, bytes head, bytes tail):
        """``head``, the document, ``tail``."""
        cdef Py_ssize_t heads = PyBytes_GET_SIZE(head), tails = PyBytes_GET_SIZE(tail)
        cdef size_t size = text_size(self.value_form, found.document_size)
        value = PyBytes_FromStringAndSize(NULL, heads + size + tails)
        cdef unsigned char *out = <unsigned char *>PyBytes_AS_STRING(value)
        out = _put(out, <Text>PyBytes_AS_STRING(head), heads)
        out = put_text(out, self.value_form, found.document, found.document_size)
        _put(out, <Text>PyBytes_AS_STRING(tail), tails)
        return value


_FORMS = {"JSON": JSON, "COUNTED": COUNTED, "BARE": BARE}


cdef inline size_t text_size(Form form, size_t size) noexcept nogil:
    """How many bytes a text has that has so many by itself."""
    if form == JSON:
        return size + 2
    if form == COUNTED:
        return size + digits_of_size(size)
    return size


cdef inline size_t digits_of_size(size_t size) noexcept nogil:
    """Bytes of a size as a zig-zag variable-length integer."""
    cdef size_t digits = 1
    size >>= 6
    while size:
        digits += 1
        size >>= 7
    return digits


cdef inline unsigned char *put_text(
    unsigned char *out, Form form, Text text, size_t size
) noexcept nogil:
    """A text that is escaped already, in its form."""
    cdef size_t rest
    if form == JSON:
        out[0] = c'"'
        out += 1
    elif form == COUNTED:
        rest = size << 1  # zig-zag: never negative
        while rest >= 0x80:
            out[0] = rest & 0x7F | 0x80
            out += 1
            rest >>= 7
        out[0] = rest
        out += 1
    memcpy(out, text, size)
    out += size
    if form == JSON:
        out[0] = c'"'
        out += 1
    return out


cdef inline tuple _pair(bytes key, bytes value):
    """A pair that the garbage collector need not know: thousands of them would call it in."""
    pair = (key, value)
    PyObject_GC_UnTrack(pair)
    return pair


cdef inline unsigned char *_put(unsigned char *out, Text text, size_t size) noexcept:
    memcpy(out, text, size)
    return out + size


cdef void *_with_room(void *memory, size_t *room, size_t wanted) except NULL:
    """Memory with as many bytes; what was in it may be gone."""
    if room[0] < wanted:
        grown = realloc(memory, wanted + wanted // 4)
        if grown == NULL:
            raise MemoryError(f"no memory for {wanted} bytes of a page")
        memory = grown
        room[0] = wanted + wanted // 4
    return memory
