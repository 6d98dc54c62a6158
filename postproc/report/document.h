/* What a report says, before any format: facts, lines for people, and tables with typed columns, in
 * the order in which they are told.
 *
 * A report is one file that describes its analysis' result; text, JSON, CSV and the page walk the
 * description and know no report. A table does not copy its rows: a column says where in a row its
 * value stands (MPR_FIELD), or how it is computed.  So a document lives no longer than the result.
 *
 * Text of any origin is kept as it is: each renderer makes it harmless in its own way. */
#ifndef MPR_DOCUMENT_H
#define MPR_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "frame.h"
#include "group.h"

/* ---- values */

enum mpr_type {
    MPR_BYTES,
    MPR_SIGNED,
    MPR_CHANGE, /* bytes: an amount, one that may be negative, one with its sign */
    MPR_COUNT,
    MPR_TIME,
    MPR_SPAN,
    MPR_ADDRESS, /* a number of things, ns since the process's start, ns that something took, of
                    memory */
    MPR_SHARE,   /* of the table's `whole` */
    MPR_FLAG,
    MPR_WORD,
    MPR_TEXT, /* a word is one of ours: it needs no quotes */
    MPR_PATH,
    MPR_TEXTS,  /* in JSON only */
    MPR_NUMBERS /* lists: of frames, outermost first; of texts; of numbers */
};

/* Unknown: null in JSON, "-" in text, empty in CSV.  Absent: empty everywhere, and JSON has no such
 * field. */
enum mpr_state { MPR_KNOWN, MPR_UNKNOWN, MPR_ABSENT };

struct mpr_value {
    enum mpr_type type;
    enum mpr_state state;
    union {
        uint64_t number; /* 0 or 1 of a flag */
        int64_t amount;  /* SIGNED, CHANGE */
        double percent;  /* SHARE */
        const char *text;
        struct mpr_path path;
        const char *const *texts;
        const uint64_t *numbers;
    };
    size_t count;       /* of a list */
    bool told;          /* PATH: it is for people as it is */
    const char *caller; /* PATH: for people, who called its last name; NULL: nobody to tell of */
    size_t lead;   /* PATH: bytes at its beginning that are seen where it is cut, if they can be */
    bool at_least; /* a number: for people, it may be more, */
    bool about;    /* or another one */
    bool lasting;  /* TIME: set by its column */
};

struct mpr_value mpr_value_number(enum mpr_type type, uint64_t number);
struct mpr_value mpr_value_amount(enum mpr_type type, int64_t amount);
struct mpr_value mpr_value_text(const char *text);
struct mpr_value mpr_value_heap(uint8_t heap);
struct mpr_value mpr_value_path(struct mpr_path path);
struct mpr_value mpr_value_texts(const char *const *texts, size_t count);
struct mpr_value mpr_value_numbers(const uint64_t *numbers, size_t count);
struct mpr_value mpr_value_flag(bool flag);
/* "" and NULL: the state that stands for it. */
struct mpr_value mpr_value_known_text(const char *text, enum mpr_state otherwise);
struct mpr_value mpr_value_known(enum mpr_type type, uint64_t number, uint64_t unknown);
extern const struct mpr_value mpr_value_unknown, mpr_value_absent;

/* ---- columns */

enum mpr_format {
    MPR_IN_TEXT = 1,
    MPR_IN_JSON = 2,
    MPR_IN_CSV = 4,
    MPR_IN_PAGE = 8,
    MPR_FOR_PEOPLE = MPR_IN_TEXT | MPR_IN_PAGE,
    MPR_EVERYWHERE = MPR_FOR_PEOPLE | MPR_IN_JSON | MPR_IN_CSV
};

/* The C type of a value.  MPR_HELD finds it by the member's type, and other types do not compile.
 * One byte is a heap (heap_names.h), whose value is its name. */
enum mpr_held {
    MPR_AS_U64,
    MPR_AS_U32,
    MPR_AS_I64,
    MPR_AS_BOOL,
    MPR_AS_HEAP,
    MPR_AS_TEXT,
    MPR_AS_TEXTS,
    MPR_AS_PATH
};
#define MPR_HELD(member)                                                                           \
    _Generic((member), uint64_t: MPR_AS_U64, uint32_t: MPR_AS_U32, int64_t: MPR_AS_I64, bool: MPR_AS_BOOL, uint8_t: MPR_AS_HEAP, const char *: MPR_AS_TEXT, const char *const *: MPR_AS_TEXTS, struct mpr_path: MPR_AS_PATH)

/* What a value says of itself: zero (of a text: "" or NULL, of a path: NULL) or the largest number
 * may stand for none. */
enum mpr_unless {
    MPR_ALWAYS,
    MPR_UNKNOWN_AT_0,
    MPR_UNKNOWN_AT_MAX,
    MPR_ABSENT_AT_0,
    MPR_ABSENT_AT_MAX
};

struct mpr_column {
    const char *key;   /* in JSON and CSV; NULL: not there */
    const char *title; /* for people; NULL: not there.  In text the first column bears the table's
                          title */
    enum mpr_type type;
    unsigned only;   /* in these formats alone; 0: in all that it has a name for */
    size_t at, also; /* of the row: MPR_FIELD, MPR_PATH_FIELD */
    enum mpr_held held;
    bool of_context; /* not of the row: of the table's context */
    struct mpr_value (*get)(const void *row, const void *context); /* in place of a field */
    const char *const *words;                                      /* of a WORD held as a number */
    enum mpr_unless unless;
    bool lasting;  /* TIME: a length of time, never of the clock */
    bool sums;     /* rows that are left out are told by their sum */
    bool of_rest;  /* so is this, behind it and by its title, in text that shows the column */
    bool estimate; /* bears "~" where the table says that the row is estimated */
    bool bound;    /* is at least what it says where the table's are bounds */
    bool below;    /* in text on a line of its own below the row */
    bool beside;   /* TEXT: in text it has room behind its row before what is spare has any */
    int width;     /* in text; 0: that of the type */
    int spare; /* in text not shown where there is too little room; 1 goes first.  0: always shown
                */
    const char *lead; /* in text before it; NULL: two spaces before what stands left in its column
                       */
};

#define MPR_FIELD(row, member)                                                                     \
    .at = offsetof(struct row, member), .held = MPR_HELD(((struct row *)0)->member)
#define MPR_CONTEXT(row, member)    MPR_FIELD(row, member), .of_context = true
#define MPR_PATH_FIELD(row, member) .type = MPR_PATH, MPR_FIELD(row, member)
/* Texts, and how many. */
#define MPR_TEXTS_FIELD(row, member, count)                                                        \
    .type = MPR_TEXTS, .only = MPR_IN_JSON, MPR_FIELD(row, member),                                \
    .also = offsetof(struct row, count)

enum { MPR_WIDE = -1 }; /* as wide as a path: by the terminal */

/* ---- tables */

enum mpr_shape {
    MPR_OBJECTS, /* in JSON a list of objects, */
    MPR_LISTS,   /* or of lists, */
    MPR_MEMBERS, /* or one object: its keys are the first column */
    MPR_FACTS    /* one row: fields of the object that is open */
};

struct mpr_table {
    const char *key;   /* in JSON; NULL: not there */
    const char *title; /* for people, the heading; NULL: rows without one */
    unsigned only;     /* in these formats alone; 0: in text, JSON and the page */
    const struct mpr_column *column;
    size_t columns;
    const void *row;
    size_t rows, stride; /* stride: bytes from row to row */
    const size_t *order; /* in which people see them; NULL: as they are */
    const void *context; /* for columns that are not of the row */
    uint64_t whole;      /* what shares are of */
    uint64_t tick;       /* ns that the last digit of a time stands for; 0: ms */
    uint64_t epoch;      /* set by mpr_doc_table: for people times are of the clock; 0: they are not
                          */
    size_t top;          /* rows that people see unless --top says otherwise; 0: MPR_TOP */
    size_t idle;         /* rows at the end that people need not see */
    unsigned all;        /* formats that show each row, whatever --top says */
    const char *omitted; /* in JSON the sum of rows that are left out; NULL: that and their number
                          * under "omitted_KEY"; "": neither. Not of a table that shows all */
    enum mpr_shape shape;
    bool (*estimated)(const void *row);
    enum mpr_group by; /* what its paths are, for people; if nothing is said ranges */
    bool bounds;       /* not all that its rows did is in the log */
    bool partial;      /* some rows of more: what people do not see is not counted */
    const char *total; /* for people a last row with the columns' sums */
    bool flush;        /* in text rows are not indented */
    struct {
        const char *of, *in; /* frames above its path: a text, and the column of this key; NULL:
                                none */
        const char *bytes;   /* keys of columns: what the path holds; NULL: rows are no stacks */
        const char *before;  /* and held in what it is compared with; NULL: it is not */
    } folded; /* rows as call stacks, for flame graphs: whole, whatever `only` says */
};

enum { MPR_TOP = 20 };

bool mpr_column_in(const struct mpr_column *column, enum mpr_format format);
bool mpr_table_in(const struct mpr_table *table, enum mpr_format format);
/* Row i, for people as they see them. */
const void *mpr_table_row(const struct mpr_table *table, size_t i, enum mpr_format format);
/* How many rows the format shows.  top: of --top; 0: not given, and a last row is shown where it
 * would be told of in a line. */
size_t mpr_table_shown(const struct mpr_table *table, size_t top, enum mpr_format format);
struct mpr_value mpr_table_cell(const struct mpr_table *table, const struct mpr_column *column,
                                const void *row);
/* Of a column, from that row on: unknown when all are. */
struct mpr_value mpr_table_sum(const struct mpr_table *table, const struct mpr_column *column,
                               size_t from, enum mpr_format format);

/* ---- documents */

struct mpr_naming;

enum mpr_tone { MPR_PLAIN, MPR_STRONG, MPR_WARN, MPR_FAINT };

struct mpr_run {
    struct mpr_run *next;
    enum mpr_tone tone;
    const char *text;
};

enum mpr_item_kind { MPR_OPEN, MPR_CLOSE, MPR_FACT, MPR_LINE, MPR_TABLE };

struct mpr_item {
    struct mpr_item *next;
    enum mpr_item_kind kind;
    const char *key; /* OPEN, CLOSE, FACT */
    bool list;       /* OPEN, CLOSE: of objects without keys */
    int hang;        /* LINE: in text where it is too wide it goes on below, so many columns in; 0:
                        under what stands behind its label */
    bool whole;      /* LINE: it is as wide as it is */
    union {
        struct mpr_item *around;       /* OPEN: the one around it */
        struct mpr_value value;        /* FACT */
        struct mpr_run *run;           /* LINE; NULL: an empty one */
        const struct mpr_table *table; /* TABLE */
    };
};

struct mpr_document {
    struct mpr_arena arena;
    const struct mpr_naming *naming;        /* how people see paths; of whoever made the document */
    const struct mpr_process_info *started; /* what the user typed, where it is not the log's own
                                               command; NULL: not known */
    size_t top;     /* --top; 0: not given.  Tables are cut by whoever renders them */
    bool clock;     /* people see times as the clock had them, not since the process's start */
    uint64_t epoch; /* CLOCK_REALTIME ns that times count from, where `clock` is wanted; else 0 */
    struct mpr_item *first, *last, *open;
    struct mpr_run *run;          /* the newest of the line that is being written */
    const struct mpr_column *csv; /* of the tables that are in CSV; NULL: there is none */
    size_t csv_columns;
    bool json_ends_blank; /* an empty line ends it: so does memprof.oom/1 since it is */
};

void mpr_doc_free(struct mpr_document *doc);
/* Keeps the lines and tables that were added after @item from people.  NULL: those from the start.
 */
void mpr_doc_hide_after(struct mpr_document *doc, struct mpr_item *item);

/* An object or a list of JSON; key: NULL in a list. */
void mpr_doc_open(struct mpr_document *doc, const char *key);
void mpr_doc_list(struct mpr_document *doc, const char *key);
void mpr_doc_close(struct mpr_document *doc);

/* A field of JSON. */
void mpr_doc_fact(struct mpr_document *doc, const char *key, struct mpr_value value);
void mpr_doc_table(struct mpr_document *doc, const struct mpr_table *table);
#define MPR_COLUMNS(list)     .column = (list), .columns = sizeof(list) / sizeof *(list)
#define MPR_ROWS(list, count) .row = (list), .rows = (count), .stride = sizeof *(list)
/* The fields of one row, told by columns. */
#define mpr_doc_facts(doc, list, of)                                                               \
    mpr_doc_table(                                                                                 \
        doc, &(struct mpr_table){                                                                  \
                 .only = MPR_IN_JSON, .shape = MPR_FACTS, MPR_COLUMNS(list), MPR_ROWS(of, 1) })
#define mpr_doc_csv(doc, list)                                                                     \
    ((doc)->csv = (list), (void)((doc)->csv_columns = sizeof(list) / sizeof *(list)))

/* For people: a line, or parts of one up to mpr_doc_end. */
void mpr_doc_line(struct mpr_document *doc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mpr_doc_add(struct mpr_document *doc, enum mpr_tone tone, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void mpr_doc_say(struct mpr_document *doc, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* plain */
void mpr_doc_end(struct mpr_document *doc);
/* What goes on below, where the line is too wide, begins at column `hang`. */
void mpr_doc_end_wrapped(struct mpr_document *doc, int hang);
/* A line that ends in a command, which is to be copied: it is never wrapped. */
void mpr_doc_command(struct mpr_document *doc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mpr_doc_gap(struct mpr_document *doc);

/* Amounts as words of a sentence, in the document's memory. */
const char *mpr_doc_size(struct mpr_document *doc, uint64_t bytes);
const char *mpr_doc_count(struct mpr_document *doc, uint64_t count);
const char *mpr_doc_time(struct mpr_document *doc, uint64_t ns);
const char *mpr_doc_instant(struct mpr_document *doc, uint64_t ns, uint64_t width);
/* A length of time, never of the clock. */
const char *mpr_doc_lasting(struct mpr_document *doc, uint64_t ns);
/* From here on times are of a process that began then (CLOCK_REALTIME ns; 0: not known). */
void mpr_doc_began(struct mpr_document *doc, uint64_t start);
/* Names joined by " > "; "outside any range". */
const char *mpr_doc_path(struct mpr_document *doc, struct mpr_path path);

#endif
