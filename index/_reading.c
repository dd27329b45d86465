/* Reads result records exactly as index/record_reader.py does, which documents each function. Optional: compiled if there is
 * a compiler (hatch_build.py). A truncated or damaged record raises ValueError; nothing outside of it is read.
 *
 * index/records.py has the layout. The compiled reader exists for speed alone: a search reads a few hundred records.
 */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define HEAD 16                     /* bytes before the tables of a record */
#define NEAR 32                     /* table entries searched on each side of the expected one */
#define PASSAGES 64                 /* passages of a record at most: one bit each of a mask */
#define AROUND 4                    /* passages on each side of a snippet from which it may take sentences */
#define MOST_WORDS 32               /* words of a query by which sentences are chosen: one bit each */
#define ROW 24                      /* bytes of a row: until, cluster, domain, order (index/columns.py) */
#define FOREVER ((int64_t)1 << 62)  /* `until` of a page that is the latest of its URL */

/* Pointers into one record, and the counts of its head. */
typedef struct {
    const uint8_t *hashes, *masks, *offsets, *url, *title, *text, *named;
    uint16_t count, parts, url_bytes, title_bytes, titled;
    uint32_t text_bytes;
    int32_t day;
} Record;

/* Unaligned little-endian reads. */
static uint16_t u16(const uint8_t *at) { uint16_t value; memcpy(&value, at, 2); return value; }
static uint32_t u32(const uint8_t *at) { uint32_t value; memcpy(&value, at, 4); return value; }
static uint64_t u64(const uint8_t *at) { uint64_t value; memcpy(&value, at, 8); return value; }

/* Fill in a Record from its bytes; 0 with an exception if they are too few for what its head says. */
static int opened(const Py_buffer *given, Record *record)
{
    const uint8_t *bytes = given->buf;
    Py_ssize_t fixed = HEAD;
    if (given->len >= HEAD) {
        record->count = u16(bytes);
        record->parts = u16(bytes + 2);
        record->url_bytes = u16(bytes + 4);
        record->title_bytes = u16(bytes + 6);
        record->titled = u16(bytes + 8);
        memcpy(&record->day, bytes + 12, 4);
        record->hashes = bytes + HEAD;
        record->masks = record->hashes + 2 * (Py_ssize_t)record->count;
        record->offsets = record->masks + 8 * (Py_ssize_t)record->count;
        record->url = record->offsets + 4 * ((Py_ssize_t)record->parts + 1);
        record->title = record->url + record->url_bytes;
        record->text = record->title + record->title_bytes;
        fixed = (record->text - bytes) + 2 * (Py_ssize_t)record->titled;
    }
    if (given->len < fixed || given->len < HEAD) {
        PyErr_SetString(PyExc_ValueError, "truncated result record");
        return 0;
    }
    record->named = bytes + given->len - 2 * (Py_ssize_t)record->titled;
    record->text_bytes = (uint32_t)(given->len - fixed);
    return 1;
}

/* Expected index of a hash among the sorted hashes of a record: they are evenly distributed. */
static uint32_t about(const Record *record, uint16_t wanted) { return (uint32_t)wanted * record->count >> 16; }

/* Return the passage mask of a term; 0 if the page does not have it. A binary search around the expected index, and
 * without a branch in its loop, since the processor could not predict one. */
static uint64_t mask_of(const Record *record, uint16_t wanted)
{
    uint32_t place = about(record, wanted), low = place > NEAR ? place - NEAR : 0;
    uint32_t high = place + NEAR < record->count ? place + NEAR : record->count;
    if (low && u16(record->hashes + 2 * low) >= wanted)
        low = 0;
    if (high < record->count && u16(record->hashes + 2 * high - 2) < wanted)
        high = record->count;
    const uint8_t *at = record->hashes + 2 * low;
    for (uint32_t left = high - low; left > 1; left -= left / 2)
        at += u16(at + 2 * (left / 2) - 2) < wanted ? 2 * (left / 2) : 0;
    if (low < high && u16(at) == wanted)
        return u64(record->masks + 4 * (at - record->hashes));
    return 0;
}

/* 1 if the title has the term. */
static int in_title(const Record *record, uint16_t wanted)
{
    for (uint32_t place = 0; place < record->titled; place++)
        if (u16(record->named + 2 * place) == wanted)
            return 1;
    return 0;
}

/* Return the number of the lowest set bit; 0 if there is none. */
static uint32_t lowest(uint64_t mask)
{
    uint32_t number = 0;
    while (mask && !(mask & 1)) {
        mask >>= 1;
        number++;
    }
    return number;
}

/* Find the text of the passages from `first` to before `last`; 0 with an exception if the offsets are invalid. */
static int passages(const Record *record, uint32_t first, uint32_t last, const uint8_t **text, Py_ssize_t *size)
{
    uint32_t start, end;
    if (first > record->parts || last > record->parts) {
        PyErr_SetString(PyExc_ValueError, "damaged result record: it refers to a passage that it does not have");
        return 0;
    }
    start = u32(record->offsets + 4 * first);
    end = u32(record->offsets + 4 * last);
    if (start > end || end > record->text_bytes) {
        PyErr_SetString(PyExc_ValueError, "damaged result record: it has offsets outside of its text");
        return 0;
    }
    *text = record->text + start;
    *size = end - start;
    return 1;
}

/* 1 if the text contains the wanted one at an offset that no ASCII letter or digit precedes. `ends` is a scratch buffer
 * as long as the text.
 *
 * Most offsets are ruled out by the first and the last byte, many at a time (the loop is vectorised). memmem would be
 * slower: it preprocesses each pattern, which takes longer than searching a few passages.
 */
static int holds(const char *text, Py_ssize_t size, const char *wanted, Py_ssize_t length, uint8_t *ends)
{
    Py_ssize_t places = size - length + 1;
    if (!length)
        return 1;
    if (places <= 0)
        return 0;
    const char first = wanted[0], last = wanted[length - 1], *tails = text + length - 1;
    for (Py_ssize_t at = 0; at < places; at++)
        ends[at] = (text[at] == first) & (tails[at] == last);
    for (uint8_t *at = ends; (at = memchr(at, 1, (size_t)(ends + places - at))); at++) {
        const char *here = text + (at - ends);
        if (!memcmp(here, wanted, (size_t)length) && (here == text || !Py_ISALNUM(Py_CHARMASK(here[-1]))))
            return 1;
    }
    return 0;
}

/* A query as it is looked for in records: per word its rareness and the hashes of its readings; and word pairs. */
typedef struct {
    Py_ssize_t words;
    double *rareness;
    uint16_t *hashes; /* of all words, one word after another */
    Py_ssize_t *ends; /* per word, the end of its hashes */
    PyObject *pairs;
} Wanted;

/* Free the memory of a query. */
static void forget(Wanted *wanted)
{
    PyMem_Free(wanted->rareness);
    PyMem_Free(wanted->hashes);
    PyMem_Free(wanted->ends);
    Py_XDECREF(wanted->pairs);
}

/* Parse the query arguments; 0 with an exception if they have the wrong types. */
static int wanted_of(PyObject *terms, PyObject *pairs, Wanted *wanted)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(terms), hashes = 0;
    for (Py_ssize_t place = 0; place < count; place++) {
        PyObject *term = PySequence_Fast_GET_ITEM(terms, place);
        if (!PyTuple_Check(term) || PyTuple_GET_SIZE(term) != 2 || !PyTuple_Check(PyTuple_GET_ITEM(term, 0))) {
            PyErr_SetString(PyExc_TypeError, "a term must be (hashes, rareness), the hashes a tuple");
            return 0;
        }
        hashes += PyTuple_GET_SIZE(PyTuple_GET_ITEM(term, 0));
    }
    wanted->words = count;
    wanted->rareness = PyMem_Calloc((size_t)count + 1, sizeof(double));
    wanted->hashes = PyMem_Calloc((size_t)hashes + 1, sizeof(uint16_t));
    wanted->ends = PyMem_Calloc((size_t)count + 1, sizeof(Py_ssize_t));
    if (!wanted->rareness || !wanted->hashes || !wanted->ends) {
        PyErr_NoMemory();
        return 0;
    }
    for (Py_ssize_t place = 0, end = 0; place < count; place++) {
        PyObject *term = PySequence_Fast_GET_ITEM(terms, place), *of = PyTuple_GET_ITEM(term, 0);
        wanted->rareness[place] = PyFloat_AsDouble(PyTuple_GET_ITEM(term, 1));
        for (Py_ssize_t one = 0; one < PyTuple_GET_SIZE(of); one++)
            wanted->hashes[end++] = (uint16_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(of, one));
        if (PyErr_Occurred())
            return 0;
        wanted->ends[place] = end;
    }
    for (Py_ssize_t place = 0; place < PySequence_Fast_GET_SIZE(pairs); place++) {
        PyObject *forms = PySequence_Fast_GET_ITEM(pairs, place);
        for (Py_ssize_t form = 0; form < (PyTuple_Check(forms) ? PyTuple_GET_SIZE(forms) : 1); form++)
            if (!PyTuple_Check(forms) || !PyBytes_Check(PyTuple_GET_ITEM(forms, form))) {
                PyErr_SetString(PyExc_TypeError, "a pair must be a tuple of its spellings as bytes");
                return 0;
            }
    }
    wanted->pairs = Py_NewRef(pairs);
    return 1;
}

/* Return the share of the pairs that occur in a passage or its neighbours; below 0 with an exception. */
static double share_of_pairs(const Record *record, uint32_t number, PyObject *pairs)
{
    uint32_t first = number ? number - 1 : 0;
    uint32_t last = number + 2 < record->parts ? number + 2 : record->parts;
    const uint8_t *text;
    Py_ssize_t size, found = 0, count = PySequence_Fast_GET_SIZE(pairs);
    char *said;
    if (!passages(record, first, last, &text, &size))
        return -1;
    if (!(said = PyMem_Malloc(2 * (size_t)size + 1))) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t place = 0; place < size; place++)
        said[place] = (char)(text[place] + ((uint8_t)(text[place] - 'A') < 26 ? 32 : 0));
    for (Py_ssize_t place = 0; place < count; place++) {
        PyObject *forms = PySequence_Fast_GET_ITEM(pairs, place);
        int is_there = 0;
        for (Py_ssize_t form = 0; form < PyTuple_GET_SIZE(forms) && !is_there; form++) {
            PyObject *one = PyTuple_GET_ITEM(forms, form);
            is_there = holds(said, size, PyBytes_AS_STRING(one), PyBytes_GET_SIZE(one), (uint8_t *)said + size);
        }
        found += is_there;
    }
    PyMem_Free(said);
    return (double)found / (double)count;
}

/* Add a value to the sum of every passage in a mask. */
static void add_to_bits(double *sums, uint64_t mask, double value)
{
    for (; mask; mask &= mask - 1)
        sums[__builtin_ctzll(mask)] += value;
}

/* Return the number of the largest of the first sums, the first of equal ones. */
static uint32_t largest(const double *sums, uint32_t count)
{
    uint32_t number = 0;
    for (uint32_t one = 1; one < count; one++)
        if (sums[one] > sums[number])
            number = one;
    return number;
}

/* Return (title, passage, order, passages) of one record. Sums run in the order of record_reader.py, so that both give
 * equal floats. */
static PyObject *agreed(const Record *record, const Wanted *wanted)
{
    double single[PASSAGES], window[PASSAGES];
    const uint32_t parts = record->parts < PASSAGES ? record->parts : PASSAGES;
    const uint64_t all = parts < 64 ? ((uint64_t)1 << parts) - 1 : ~(uint64_t)0;
    double total = 0, entitled = 0, order = 0, title = 0, passage = 0;
    uint32_t shared = 0;
    single[0] = window[0] = 0; /* also where there are no passages */
    memset(single, 0, parts * sizeof(double));
    memset(window, 0, parts * sizeof(double));
    for (Py_ssize_t place = 0, one = 0; place < wanted->words; place++) {
        double rareness = wanted->rareness[place];
        int is_in_title = 0;
        uint64_t mask = 0;
        for (; one < wanted->ends[place]; one++) {
            is_in_title |= in_title(record, wanted->hashes[one]);
            mask |= mask_of(record, wanted->hashes[one]);
        }
        total += rareness;
        if (is_in_title) {
            entitled += rareness;
            shared++;
        }
        add_to_bits(single, mask & all, rareness);
        add_to_bits(window, (mask | mask << 1 | mask >> 1) & all, rareness);
    }
    uint32_t best = largest(window, parts);
    if (window[best] && PySequence_Fast_GET_SIZE(wanted->pairs)
        && (order = share_of_pairs(record, best, wanted->pairs)) < 0)
        return NULL;
    if (total) {
        double part = shared ? (double)shared / (double)record->titled : 0;
        title = shared ? sqrt(entitled / total * (part < 1 ? part : 1)) : 0;
        passage = (single[largest(single, parts)] + window[best]) / (2 * total);
    }
    return Py_BuildValue("dddi", title, passage, order, (int)parts);
}

/* Return (url, title, passage, day) of one record. */
static PyObject *found(const Record *record, PyObject *hashes, uint64_t within)
{
    uint64_t best = within;
    const uint8_t *text = record->text;
    Py_ssize_t size = 0, count = PySequence_Fast_GET_SIZE(hashes);
    if (record->parts) {
        for (Py_ssize_t place = 0; place < count; place++) {
            unsigned long wanted = PyLong_AsUnsignedLong(PySequence_Fast_GET_ITEM(hashes, place));
            if (PyErr_Occurred())
                return NULL;
            uint64_t mask = mask_of(record, (uint16_t)wanted);
            if (mask)
                best = !best ? mask : best & mask ? best & mask : best;
        }
        uint32_t number = lowest(best);
        if (!passages(record, number, number + 1, &text, &size))
            return NULL;
    }
    return Py_BuildValue("y#y#y#i", (const char *)record->url, (Py_ssize_t)record->url_bytes,
                         (const char *)record->title, (Py_ssize_t)record->title_bytes,
                         (const char *)text, size, (int)record->day);
}

/* Prefetch the memory that the search will read, so that it arrives while other records are read. */
static void foretell(const Record *record, const Wanted *wanted)
{
    for (Py_ssize_t one = 0; one < wanted->ends[wanted->words - 1]; one++) {
        uint32_t place = about(record, wanted->hashes[one]);
        __builtin_prefetch(record->hashes + 2 * place);
        __builtin_prefetch(record->masks + 8 * place);
    }
    __builtin_prefetch(record->named);
}

/* Read many records in three passes: fetch their heads, fetch their tables, compute. Each hides cache misses. */
static PyObject *agreements_of(PyObject *records, Py_ssize_t count, const Wanted *wanted, Py_buffer *bytes, Record *read)
{
    PyObject *answer, *one;
    for (Py_ssize_t place = 0; place < count; place++) {
        if (PyObject_GetBuffer(PySequence_Fast_GET_ITEM(records, place), bytes + place, PyBUF_SIMPLE) < 0)
            return NULL;
        __builtin_prefetch(bytes[place].buf);
    }
    for (Py_ssize_t place = 0; place < count; place++) {
        if (!opened(bytes + place, read + place))
            return NULL;
        if (wanted->words)
            foretell(read + place, wanted);
    }
    if (!(answer = PyList_New(count)))
        return NULL;
    for (Py_ssize_t place = 0; place < count; place++) {
        if (!(one = agreed(read + place, wanted))) {
            Py_DECREF(answer);
            return NULL;
        }
        PyList_SET_ITEM(answer, place, one);
    }
    return answer;
}

static PyObject *match_features(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    Wanted wanted = {0, NULL, NULL, NULL, NULL};
    PyObject *records, *terms = NULL, *pairs = NULL, *answer = NULL;
    (void)module;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "match_features(records, terms, pairs)");
        return NULL;
    }
    records = PySequence_Fast(given[0], "records must be a sequence");
    terms = records ? PySequence_Fast(given[1], "terms must be a sequence") : NULL;
    pairs = terms ? PySequence_Fast(given[2], "pairs must be a sequence") : NULL;
    if (pairs && wanted_of(terms, pairs, &wanted)) {
        Py_ssize_t size = PySequence_Fast_GET_SIZE(records);
        Py_buffer *bytes = PyMem_Calloc((size_t)size + 1, sizeof(Py_buffer));
        Record *read = PyMem_Calloc((size_t)size + 1, sizeof(Record));
        answer = bytes && read ? agreements_of(records, size, &wanted, bytes, read) : PyErr_NoMemory();
        for (Py_ssize_t place = 0; bytes && place < size; place++)
            PyBuffer_Release(bytes + place); /* does nothing for a buffer that was not acquired */
        PyMem_Free(bytes);
        PyMem_Free(read);
    }
    forget(&wanted);
    Py_XDECREF(records);
    Py_XDECREF(terms);
    Py_XDECREF(pairs);
    return answer;
}

static PyObject *result_fields(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    Py_buffer bytes;
    Record record;
    PyObject *hashes, *answer = NULL;
    (void)module;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "result_fields(record, hashes, within)");
        return NULL;
    }
    uint64_t within = PyLong_AsUnsignedLongLong(given[2]);
    if (PyErr_Occurred() || PyObject_GetBuffer(given[0], &bytes, PyBUF_SIMPLE) < 0)
        return NULL;
    hashes = PySequence_Fast(given[1], "hashes must be a sequence");
    if (hashes && opened(&bytes, &record))
        answer = found(&record, hashes, within);
    Py_XDECREF(hashes);
    PyBuffer_Release(&bytes);
    return answer;
}

/* 1 if the full stop at an offset ends an abbreviation: an initial, or one of a few titles. */
static int abbreviates(const char *text, Py_ssize_t at)
{
    static const char *const words[] = {"Mr", "Mrs", "Ms", "Dr", "St", "Prof", "Jr", "Sr", "vs", "No"};
    Py_ssize_t first = at;
    while (first > 0 && (((text[first - 1] | 32) >= 'a' && (text[first - 1] | 32) <= 'z') || text[first - 1] & 0x80))
        first--;
    if (at - first == 1)
        return text[first] >= 'A' && text[first] <= 'Z';
    for (size_t one = 0; one < sizeof words / sizeof *words; one++)
        if ((Py_ssize_t)strlen(words[one]) == at - first && !memcmp(words[one], text + first, (size_t)(at - first)))
            return 1;
    return 0;
}

/* Offset of the sentence that begins behind the mark at an offset; 0 if none does. */
static Py_ssize_t sentence_after(const char *text, Py_ssize_t size, Py_ssize_t at)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (at + 2 < size && ((bytes[at] == 0xE3 && bytes[at + 1] == 0x80 && bytes[at + 2] == 0x82) ||
                          (bytes[at] == 0xEF && bytes[at + 1] == 0xBC && (bytes[at + 2] == 0x81 || bytes[at + 2] == 0x9F)))) {
        at += at + 3 < size && text[at + 3] == ' ' ? 4 : 3;
        return at < size ? at : 0;
    }
    if ((text[at] != '.' && text[at] != '!' && text[at] != '?') || (text[at] == '.' && abbreviates(text, at)))
        return 0;
    for (at++; at < size;) {
        if (text[at] == '\'' || text[at] == ')' || text[at] == ']')
            at++;
        else if (at + 1 < size && text[at] == '\\' && text[at + 1] == '"')
            at += 2;
        else if (at + 2 < size && bytes[at] == 0xE2 && bytes[at + 1] == 0x80 && (bytes[at + 2] == 0x99 || bytes[at + 2] == 0x9D))
            at += 3;
        else
            break;
    }
    if (at + 1 >= size || text[at] != ' ')
        return 0;
    unsigned char next = bytes[at + 1];
    int begins = (next >= 'A' && next <= 'Z') || (next >= '0' && next <= '9') || next == '(' || next == '[' || next == '\\' || next >= 0xC3;
    return begins ? at + 1 : 0;
}

/* 1 if two passages belong together without a space: both sides are of a script that has none. */
static int joins(const uint8_t *before, Py_ssize_t before_size, const uint8_t *after, Py_ssize_t after_size)
{
    return before_size > 2 && after_size > 2 && before[before_size - 3] >= 0xE3 && before[before_size - 3] < 0xEA &&
           after[0] >= 0xE3 && after[0] < 0xEA;
}

/* One word of a query: beginnings that it may have in a text, and its weight. */
typedef struct {
    PyObject *beginnings;
    int64_t weight;
} Word;

/* A sentence, or a passage's part of one that is too long. */
typedef struct {
    Py_ssize_t start, end;
    Py_ssize_t first_character, last_character; /* characters of the text before its start and its end */
    uint32_t found;
    int64_t weight;
    int asked;
} Segment;

/* The text around a snippet, its copy in lower case, its segments, and what they are chosen by. */
typedef struct {
    char *text, *lower;
    Py_ssize_t size;
    Segment *segments;
    Py_ssize_t segment_count;
    Word words[MOST_WORDS];
    uint32_t by_first_byte[256]; /* bit i: the i-th word may begin with this byte */
    Py_ssize_t word_count;
    int kind;
    Py_ssize_t limit;
} Choice;

static int is_letter_or_digit(char byte)
{
    return (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z');
}

/* Bits of those words of `wanted` that begin at an offset of the text in lower case. */
static uint32_t words_at(const Choice *choice, Py_ssize_t at, Py_ssize_t end, uint32_t wanted)
{
    uint32_t found = 0;
    wanted &= choice->by_first_byte[(uint8_t)choice->lower[at]];
    for (Py_ssize_t number = 0; wanted >> number; number++)
        for (Py_ssize_t one = 0; wanted >> number & 1 && one < PyTuple_GET_SIZE(choice->words[number].beginnings); one++) {
            PyObject *beginning = PyTuple_GET_ITEM(choice->words[number].beginnings, one);
            Py_ssize_t size = PyBytes_GET_SIZE(beginning);
            if (size && size <= end - at && !memcmp(choice->lower + at, PyBytes_AS_STRING(beginning), (size_t)size)) {
                found |= (uint32_t)1 << number;
                break;
            }
        }
    return found;
}

/* 1 if the text between two offsets has what a question of this kind asks for. */
static int has_kind(const Choice *choice, Py_ssize_t start, Py_ssize_t end)
{
    const char *text = choice->text;
    for (Py_ssize_t at = start; at < end; at++) {
        int is_digit = text[at] >= '0' && text[at] <= '9';
        if (choice->kind == 2 && is_digit)
            return 1;
        if (choice->kind == 1 && is_digit && (at == start || text[at - 1] < '0' || text[at - 1] > '9')) {
            Py_ssize_t after = at;
            while (after < end && text[after] >= '0' && text[after] <= '9')
                after++;
            if (after - at == 4 && (text[at] == '1' || text[at] == '2'))
                return 1;
        }
        if (choice->kind == 3 && at > start && at + 1 < end && !is_letter_or_digit(text[at - 1]) && text[at] >= 'A' && text[at] <= 'Z' &&
            text[at + 1] >= 'a' && text[at + 1] <= 'z' && !words_at(choice, at, end, 0xFFFFFFFF))
            return 1;
    }
    return 0;
}

/* Weight of the words whose bits are set. */
static int64_t weigh(const Choice *choice, uint32_t found)
{
    int64_t sum = 0;
    for (Py_ssize_t number = 0; number < choice->word_count; number++)
        sum += found >> number & 1 ? choice->words[number].weight : 0;
    return sum;
}

/* Add the segment between two offsets, unless it is blank. What lies between two segments are spaces. */
static void add_segment(Choice *choice, Py_ssize_t start, Py_ssize_t end)
{
    while (start < end && choice->text[start] == ' ')
        start++;
    while (end > start && choice->text[end - 1] == ' ')
        end--;
    if (start == end)
        return;
    const Segment *previous = choice->segment_count ? choice->segments + choice->segment_count - 1 : NULL;
    Py_ssize_t first_character = previous ? previous->last_character + start - previous->end : start;
    Py_ssize_t last_character = first_character;
    uint32_t found = 0, all = choice->word_count < 32 ? ((uint32_t)1 << choice->word_count) - 1 : 0xFFFFFFFF;
    for (Py_ssize_t at = start; at < end; at++) {
        uint8_t byte = (uint8_t)choice->lower[at];
        last_character += (byte & 0xC0) != 0x80;
        if (choice->by_first_byte[byte] & ~found && (at == start || byte >= 0xE3 || !is_letter_or_digit(choice->lower[at - 1])))
            found |= words_at(choice, at, end, all & ~found);
    }
    choice->segments[choice->segment_count++] =
        (Segment){start, end, first_character, last_character, found, weigh(choice, found), choice->kind && has_kind(choice, start, end)};
}

/* 1 if the text between two offsets has more characters than the limit. */
static int is_longer(const Choice *choice, Py_ssize_t start, Py_ssize_t end)
{
    Py_ssize_t count = 0;
    if (end - start <= choice->limit)
        return 0;
    for (Py_ssize_t at = start; at < end; at++)
        count += (choice->text[at] & 0xC0) != 0x80;
    return count > choice->limit;
}

/* Add the segments of one sentence, which is split where passages begin if it is too long. */
static void split(Choice *choice, Py_ssize_t start, Py_ssize_t end, const Py_ssize_t *borders, Py_ssize_t border_count)
{
    if (is_longer(choice, start, end))
        for (Py_ssize_t one = 0; one < border_count; one++)
            if (borders[one] > start && borders[one] < end) {
                add_segment(choice, start, borders[one]);
                start = borders[one];
            }
    add_segment(choice, start, end);
}

/* Number of characters from the start of one segment to the end of another. */
static Py_ssize_t size_of(const Choice *choice, Py_ssize_t first, Py_ssize_t last)
{
    return choice->segments[last].last_character - choice->segments[first].first_character;
}

/* What segments are worth together: the words of all, those of the best, those of the best that has what is asked for. */
static int64_t score_of(const Choice *choice, uint32_t found, int64_t density, int64_t asked)
{
    return 20 * weigh(choice, found) + 10 * density + 10 * asked;
}

#define LARGER(one, other) ((one) > (other) ? (one) : (other))

/* Choose the best run of segments, or the two best that are apart; return the number of runs. */
static int choose(const Choice *choice, Py_ssize_t runs[2][2])
{
    const Segment *segments = choice->segments;
    Py_ssize_t count = choice->segment_count, limit = choice->limit, anchor = 0;
    int64_t total = weigh(choice, 0xFFFFFFFF), best = -1, best_value = -1;
    int run_count = 1;
    total = LARGER(total, 1);
    runs[0][0] = runs[0][1] = 0;
    for (Py_ssize_t start = 0; start < count; start++) {
        uint32_t found = 0;
        int64_t density = 0, asked = 0;
        for (Py_ssize_t end = start; end < count; end++) {
            Py_ssize_t size = size_of(choice, start, end);
            if (size > limit && end > start)
                break;
            found |= segments[end].found;
            density = LARGER(density, segments[end].weight);
            asked = segments[end].asked ? LARGER(asked, segments[end].weight) : asked;
            int64_t score = score_of(choice, found, density, asked) + 2 * total * size / limit;
            if (score > best) {
                best = score;
                runs[0][0] = start;
                runs[0][1] = end;
            }
        }
        int64_t value = 10 * segments[start].weight + (segments[start].asked ? 10 * segments[start].weight : 0);
        if (value > best_value) {
            best_value = value;
            anchor = start;
        }
    }
    for (Py_ssize_t number = 0; number < count; number++) {
        const Segment *one = segments + number, *other = segments + anchor;
        Py_ssize_t size = size_of(choice, number, number) + size_of(choice, anchor, anchor) + 3;
        if ((number > anchor ? number - anchor : anchor - number) <= 1 || size > limit)
            continue;
        int64_t asked = LARGER(one->asked ? one->weight : 0, other->asked ? other->weight : 0);
        int64_t score = score_of(choice, one->found | other->found, LARGER(one->weight, other->weight), asked) - total;
        score += 2 * total * size / limit;
        if (score > best) {
            best = score;
            run_count = 2;
            runs[0][0] = runs[0][1] = number < anchor ? number : anchor;
            runs[1][0] = runs[1][1] = number < anchor ? anchor : number;
        }
    }
    return run_count;
}

/* Choose the run of segments that begins with the one at an offset of the text, or before it. */
static void begin_at(const Choice *choice, Py_ssize_t offset, Py_ssize_t run[2])
{
    run[0] = 0;
    while (run[0] + 1 < choice->segment_count && choice->segments[run[0] + 1].start <= offset)
        run[0]++;
    run[1] = run[0];
    while (run[1] + 1 < choice->segment_count && size_of(choice, run[0], run[1] + 1) <= choice->limit)
        run[1]++;
}

/* Number of the first passage that equals a snippet, or the number of passages if none does; -1 with an exception. */
static int64_t number_of(const Record *record, const char *snippet, Py_ssize_t size)
{
    for (uint32_t number = 0; number < record->parts; number++) {
        const uint8_t *text;
        Py_ssize_t length;
        if (!passages(record, number, number + 1, &text, &length))
            return -1;
        if (length == size && !memcmp(text, snippet, (size_t)size))
            return number;
    }
    return record->parts;
}

/* Write passages one after another into `choice->text`, and the offset of each into `starts`; 0 with an exception. */
static int join(const Record *record, uint32_t first, uint32_t last, Choice *choice, Py_ssize_t most, Py_ssize_t *starts)
{
    const uint8_t *part, *previous = NULL;
    Py_ssize_t size, previous_size = 0;
    for (uint32_t one = first; one < last; one++) {
        if (!passages(record, one, one + 1, &part, &size))
            return 0;
        if (choice->size + size + 1 > most) {
            PyErr_SetString(PyExc_ValueError, "damaged result record: its passages overlap");
            return 0;
        }
        if (previous && !joins(previous, previous_size, part, size))
            choice->text[choice->size++] = ' ';
        starts[one - first] = choice->size;
        memcpy(choice->text + choice->size, part, (size_t)size);
        choice->size += size;
        previous = part;
        previous_size = size;
    }
    return 1;
}

/* Fill in the lower case and the segments of a text. */
static void measure(Choice *choice, const Py_ssize_t *starts, Py_ssize_t start_count)
{
    Py_ssize_t begin = 0;
    for (Py_ssize_t at = 0; at < choice->size; at++) {
        char byte = choice->text[at];
        choice->lower[at] = byte >= 'A' && byte <= 'Z' ? (char)(byte | 32) : byte;
    }
    for (Py_ssize_t at = 0; at < choice->size; at++) {
        uint8_t byte = (uint8_t)choice->text[at];
        int is_mark = byte == '.' || byte == '!' || byte == '?' || byte == 0xE3 || byte == 0xEF;
        Py_ssize_t next = is_mark ? sentence_after(choice->text, choice->size, at) : 0;
        if (next) {
            split(choice, begin, next, starts, start_count);
            begin = next;
        }
    }
    split(choice, begin, choice->size, starts, start_count);
}

/* Return the chosen fragments as bytes. */
static PyObject *joined(const Choice *choice, Py_ssize_t runs[2][2], int run_count)
{
    const Segment *segments = choice->segments;
    Py_ssize_t start = segments[runs[0][0]].start, size = segments[runs[0][1]].end - start;
    if (run_count == 1)
        return PyBytes_FromStringAndSize(choice->text + start, size);
    Py_ssize_t second = segments[runs[1][0]].start, second_size = segments[runs[1][1]].end - second;
    PyObject *answer = PyBytes_FromStringAndSize(NULL, size + 5 + second_size);
    if (answer) {
        char *bytes = PyBytes_AS_STRING(answer);
        memcpy(bytes, choice->text + start, (size_t)size);
        memcpy(bytes + size, " \xe2\x80\xa6 ", 5);
        memcpy(bytes + size + 5, choice->text + second, (size_t)second_size);
    }
    return answer;
}

/* Return the fragments of a record around a snippet. */
static PyObject *fragments_of(const Record *record, const char *snippet, Py_ssize_t size, Choice *choice)
{
    int64_t number = number_of(record, snippet, size);
    if (number < 0)
        return NULL;
    if (number >= record->parts)
        return PyBytes_FromStringAndSize(snippet, size);
    uint32_t first = number > AROUND ? (uint32_t)number - AROUND : 0;
    uint32_t last = number + AROUND + 1 < record->parts ? (uint32_t)number + AROUND + 1 : record->parts;
    const uint8_t *whole;
    Py_ssize_t whole_size, starts[2 * AROUND + 1], runs[2][2];
    if (!passages(record, first, last, &whole, &whole_size))
        return NULL;
    size_t most = (size_t)whole_size + 2 * AROUND + 2;
    choice->text = PyMem_Malloc(2 * most);
    choice->lower = choice->text ? choice->text + most : NULL;
    choice->segments = PyMem_Malloc((most / 2 + 2 * AROUND + 2) * sizeof(Segment));
    PyObject *answer = choice->text && choice->segments ? Py_None : PyErr_NoMemory();
    if (answer && !join(record, first, last, choice, (Py_ssize_t)most, starts))
        answer = NULL;
    if (answer) {
        uint32_t found = 0;
        measure(choice, starts, last - first);
        for (Py_ssize_t one = 0; one < choice->segment_count; one++)
            found |= choice->segments[one].found;
        int run_count = 1;
        if (found)
            run_count = choose(choice, runs);
        else
            begin_at(choice, starts[(uint32_t)number - first], runs[0]);
        answer = choice->segment_count ? joined(choice, runs, run_count) : PyBytes_FromStringAndSize(snippet, size);
    }
    PyMem_Free(choice->text);
    PyMem_Free(choice->segments);
    return answer;
}

/* Read the words of a query from Python; 0 with an exception if they are of another form. */
static int read_words(PyObject *words, Choice *choice)
{
    choice->word_count = PySequence_Fast_GET_SIZE(words);
    if (choice->word_count > MOST_WORDS) {
        PyErr_SetString(PyExc_ValueError, "a query has more words than a choice takes");
        return 0;
    }
    for (Py_ssize_t number = 0; number < choice->word_count; number++) {
        PyObject *word = PySequence_Fast_GET_ITEM(words, number);
        int is_word = PyTuple_Check(word) && PyTuple_GET_SIZE(word) == 2 && PyTuple_Check(PyTuple_GET_ITEM(word, 0));
        for (Py_ssize_t one = 0; is_word && one < PyTuple_GET_SIZE(PyTuple_GET_ITEM(word, 0)); one++)
            is_word = PyBytes_Check(PyTuple_GET_ITEM(PyTuple_GET_ITEM(word, 0), one));
        if (!is_word) {
            PyErr_SetString(PyExc_TypeError, "a word must be (tuple of bytes, weight)");
            return 0;
        }
        choice->words[number].beginnings = PyTuple_GET_ITEM(word, 0);
        choice->words[number].weight = PyLong_AsLongLong(PyTuple_GET_ITEM(word, 1));
        if (PyErr_Occurred())
            return 0;
        for (Py_ssize_t one = 0; one < PyTuple_GET_SIZE(choice->words[number].beginnings); one++) {
            PyObject *beginning = PyTuple_GET_ITEM(choice->words[number].beginnings, one);
            if (PyBytes_GET_SIZE(beginning))
                choice->by_first_byte[(uint8_t)*PyBytes_AS_STRING(beginning)] |= (uint32_t)1 << number;
        }
    }
    return 1;
}

static PyObject *choose_fragments(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    Py_buffer bytes, snippet;
    Record record;
    Choice choice = {0};
    PyObject *answer = NULL, *words;
    (void)module;
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "choose_fragments(record, snippet, words, kind, limit)");
        return NULL;
    }
    choice.kind = (int)PyLong_AsLong(given[3]);
    choice.limit = PyLong_AsSsize_t(given[4]);
    if (PyErr_Occurred())
        return NULL;
    if (choice.limit < 1) {
        PyErr_SetString(PyExc_ValueError, "the limit must be 1 or more");
        return NULL;
    }
    if (!(words = PySequence_Fast(given[2], "words must be a sequence")))
        return NULL;
    if (read_words(words, &choice) && PyObject_GetBuffer(given[0], &bytes, PyBUF_SIMPLE) == 0) {
        if (PyObject_GetBuffer(given[1], &snippet, PyBUF_SIMPLE) == 0) {
            if (opened(&bytes, &record))
                answer = fragments_of(&record, snippet.buf, snippet.len, &choice);
            PyBuffer_Release(&snippet);
        }
        PyBuffer_Release(&bytes);
    }
    Py_DECREF(words);
    return answer;
}

/* Collect the dense ids of a ranking and prefetch their rows; 0 with an exception if a row does not exist. */
static int docs_of(PyObject *entries, const Py_buffer *rows, size_t *docs)
{
    for (Py_ssize_t place = 0; place < PySequence_Fast_GET_SIZE(entries); place++) {
        PyObject *entry = PySequence_Fast_GET_ITEM(entries, place);
        if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) != 2) {
            PyErr_SetString(PyExc_TypeError, "an entry must be (score, dense id)");
            return 0;
        }
        docs[place] = PyLong_AsSize_t(PyTuple_GET_ITEM(entry, 1));
        if (PyErr_Occurred())
            return 0;
        if (docs[place] >= (size_t)rows->len / ROW) {
            PyErr_Format(PyExc_IndexError, "no page has the dense id %zu", docs[place]);
            return 0;
        }
        __builtin_prefetch((const uint8_t *)rows->buf + ROW * docs[place]);
    }
    return 1;
}

/* Insert a cluster into an open-addressing hash table; 1 if it was there before. The table is never full: it has at
 * least twice as many slots as entries. The factor is 2^64 divided by the golden ratio (Fibonacci hashing). */
static int met(uint64_t *table, uint8_t *taken, size_t places, uint64_t cluster)
{
    size_t place = cluster * 0x9E3779B97F4A7C15u & (places - 1);
    while (taken[place] && table[place] != cluster)
        place = (place + 1) & (places - 1);
    if (taken[place])
        return 1;
    taken[place] = 1;
    table[place] = cluster;
    return 0;
}

/* Return the entries of live pages, the first of each cluster only, each with its domain. */
static PyObject *current_of(PyObject *entries, const Py_buffer *rows)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(entries);
    size_t places = 4;
    while (places < 2 * (size_t)count)
        places *= 2;
    size_t *docs = PyMem_Calloc((size_t)count + 1, sizeof(size_t));
    uint64_t *table = PyMem_Malloc(places * sizeof(uint64_t));
    uint8_t *taken = PyMem_Calloc(places, 1);
    PyObject *answer = docs && table && taken ? PyList_New(0) : PyErr_NoMemory();
    if (answer && !docs_of(entries, rows, docs))
        Py_CLEAR(answer);
    for (Py_ssize_t place = 0; answer && place < count; place++) {
        const uint8_t *row = (const uint8_t *)rows->buf + ROW * docs[place];
        if ((int64_t)u64(row) != FOREVER || met(table, taken, places, u64(row + 8)))
            continue;
        PyObject *domain = PyLong_FromUnsignedLong(u32(row + 16)), *one = NULL;
        if (domain)
            one = PyTuple_Pack(2, PySequence_Fast_GET_ITEM(entries, place), domain);
        if (!one || PyList_Append(answer, one) < 0)
            Py_CLEAR(answer);
        Py_XDECREF(domain);
        Py_XDECREF(one);
    }
    PyMem_Free(docs);
    PyMem_Free(table);
    PyMem_Free(taken);
    return answer;
}

static PyObject *drop_duplicates(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    Py_buffer rows;
    PyObject *entries, *answer;
    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "drop_duplicates(rows, ranked)");
        return NULL;
    }
    if (PyObject_GetBuffer(given[0], &rows, PyBUF_SIMPLE) < 0)
        return NULL;
    entries = PySequence_Fast(given[1], "entries must be a sequence");
    answer = entries ? current_of(entries, &rows) : NULL;
    Py_XDECREF(entries);
    PyBuffer_Release(&rows);
    return answer;
}

static PyMethodDef methods[] = {
    {"match_features", (PyCFunction)(void (*)(void))match_features, METH_FASTCALL, "See index/record_reader.py."},
    {"drop_duplicates", (PyCFunction)(void (*)(void))drop_duplicates, METH_FASTCALL, "See emulator/ranking.py; rows: index/columns.py."},
    {"result_fields", (PyCFunction)(void (*)(void))result_fields, METH_FASTCALL, "See index/record_reader.py."},
    {"choose_fragments", (PyCFunction)(void (*)(void))choose_fragments, METH_FASTCALL, "See index/fragments.py."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_reading", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__reading(void) { return PyModuleDef_Init(&definition); }
