/* A report before it has a format: facts, lines for people, and tables with typed columns, in
 * the order of the output.
 *
 * Each report is one file, which describes the result of its analysis as a document. The
 * renderers for text, JSON, CSV and the page write any document; they do not know the reports. A
 * table does not copy its rows: a column has the offset of its value in a row (MPR_FIELD), or a
 * function that returns it. So the result must live longer than the document.
 *
 * Rows and columns are described once for programs and people. A column's `key` is its name in
 * JSON and CSV, its `title` is its name for people. People may see merged rows (`lines` of a
 * table), and columns in another order (`after`, `share`): mpr_doc_table makes this view.
 *
 * Texts are stored as they are; each renderer escapes them for its format. */
#ifndef MPR_DOCUMENT_H
#define MPR_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "frame.h"
#include "group.h"
#include "row.h"

/* ---- values */

enum mpr_type {
    MPR_BYTES,
    MPR_SIGNED, /* bytes that may be negative */
    MPR_CHANGE, /* bytes, shown with their sign */
    MPR_COUNT,
    MPR_TIME,    /* ns since the process's start */
    MPR_SPAN,    /* a duration in ns */
    MPR_ADDRESS, /* in memory */
    MPR_SHARE,   /* percentage of the table's `whole` */
    MPR_FLAG,
    MPR_WORD, /* a fixed word, which needs no quotes */
    MPR_TEXT,
    MPR_PATH,   /* frames, outermost first */
    MPR_TEXTS,  /* a list; in JSON only */
    MPR_NUMBERS /* a list */
};

/* UNKNOWN: null in JSON, "-" in text, empty in CSV. ABSENT: empty everywhere, and no field in
 * JSON. */
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
    bool shortened;     /* PATH: it is already as people see it */
    const char *caller; /* PATH: for people, the caller of its first call, or NULL */
    size_t lead;   /* PATH: bytes at its beginning that are kept when it is cut, if there is room */
    bool at_least; /* a number: people see that it may be larger */
    bool about;    /* a number: people see that it is approximate */
    bool lasting;  /* TIME: set by its column */
    bool omitted;  /* JSON omits it */
};

struct mpr_value mpr_value_number(enum mpr_type type, uint64_t number);
struct mpr_value mpr_value_amount(enum mpr_type type, int64_t amount);
struct mpr_value mpr_value_about(uint64_t bytes, bool about);
struct mpr_value mpr_value_text(const char *text);
struct mpr_value mpr_value_heap(uint8_t heap);
struct mpr_value mpr_value_path(struct mpr_path path);
/* A path that is already shortened for people. caller: of its first call, or NULL. */
struct mpr_value mpr_value_shortened(struct mpr_path path, const char *caller);
/* One frame as a shortened path. If it is cut, its first @lead bytes are kept. */
struct mpr_value mpr_value_title(const struct mpr_frame *const *title, size_t lead);
struct mpr_value mpr_value_texts(const char *const *texts, size_t count);
struct mpr_value mpr_value_numbers(const uint64_t *numbers, size_t count);
struct mpr_value mpr_value_flag(bool flag);
/* If the text is "" or NULL, the state is @otherwise. */
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

/* The C type of a value, which MPR_MEMBER finds; other types do not compile. One byte is a heap,
 * and its value is the heap's name. A frame is a text for programs and a path for people. The
 * value of a variance is the standard error; if that is 0, it is absent.
 * The last ones are not members: the site of a row is its path as people see it. */
enum mpr_member {
    MPR_AS_U64,
    MPR_AS_U32,
    MPR_AS_I64,
    MPR_AS_BOOL,
    MPR_AS_HEAP,
    MPR_AS_TEXT,
    MPR_AS_TEXTS,
    MPR_AS_PATH,
    MPR_AS_FRAME,
    MPR_AS_VARIANCE,
    MPR_AS_SITE,        /* the path of the line in which people see the row */
    MPR_AS_SITE_CALLER, /* caller of that line */
    MPR_AS_LINE_ERROR,  /* for people: the standard error of a line's bytes */
    MPR_AS_LINE_NOTE    /* for people: how large the lines are with which an outlier is compared */
};
#define MPR_MEMBER(member)                                                                         \
    _Generic((member), uint64_t: MPR_AS_U64, uint32_t: MPR_AS_U32, int64_t: MPR_AS_I64, bool: MPR_AS_BOOL, uint8_t: MPR_AS_HEAP, const char *: MPR_AS_TEXT, const char *const *: MPR_AS_TEXTS, struct mpr_path: MPR_AS_PATH, const struct mpr_frame *: MPR_AS_FRAME, struct mpr_variance: MPR_AS_VARIANCE)

/* Values that mean "none": 0 (also "" and NULL) or the largest number. */
enum mpr_null_rule {
    MPR_ALWAYS,
    MPR_UNKNOWN_AT_0,
    MPR_UNKNOWN_AT_MAX,
    MPR_ABSENT_AT_0,
    MPR_ABSENT_AT_MAX,
    MPR_OMITTED_AT_0 /* only JSON omits it */
};

/* How the values of rows become the value of their common line for people. By default bytes and
 * counts are added (if one is unknown, so is the sum), flags are or-ed, and other values are
 * those of the largest row. */
enum mpr_merge {
    MPR_MERGE_DEFAULT,
    MPR_MERGE_FIRST,
    MPR_MERGE_MAX,
    MPR_MERGE_MIN,
    MPR_MERGE_SQUARES, /* standard errors: the root of the sum of squares */
    MPR_MERGE_PEAK     /* own peaks: the largest, but at least the bytes; a lower bound */
};

typedef struct mpr_value mpr_getter(const void *row, const void *context);
/* Defines a getter: the value is an expression of the row, which is a struct `type` called
 * `name`, and of the table's context, which is a struct `of` called `c`. By default the context
 * is the document. A getter must not format times, because the document's epoch may be that of a
 * later log. */
#define MPR_VALUE_IN(function, type, name, of, c, ...)                                             \
    static struct mpr_value function(const void *row, const void *context)                         \
    {                                                                                              \
        const struct type *name = row;                                                             \
        struct of *c = (struct of *)context;                                                       \
        (void)name, (void)c;                                                                       \
        return __VA_ARGS__;                                                                        \
    }
#define MPR_VALUE(function, type, name, ...)                                                       \
    MPR_VALUE_IN(function, type, name, mpr_document, doc, __VA_ARGS__)

struct mpr_column {
    const char *key;   /* in JSON and CSV, or NULL for neither */
    const char *title; /* for people, or NULL if they do not see it. In text the title of the first
                          column is that of the table */
    enum mpr_type type;
    unsigned only;   /* mask of formats, or 0 for all in which it has a name */
    size_t at, also; /* offsets in the row: MPR_FIELD, MPR_PATH_FIELD */
    enum mpr_member c_type;
    bool of_context;          /* the offset is in the table's context */
    bool of_log;              /* the offset is in the summary of the table's log */
    mpr_getter *get;          /* returns the value instead of the field */
    const char *const *words; /* WORD: the texts of an enum */
    enum mpr_null_rule unless;
    enum mpr_merge merge;
    bool lasting;     /* TIME: a duration, which is never shown as a time of day */
    bool sums;        /* the line for omitted rows has their sum */
    unsigned sums_in; /* mask of formats for `sums`, or 0 for all */
    bool of_rest;  /* that line also has this sum, with the title, if the column is shown in text */
    bool estimate; /* "~" in rows that are estimated, as the table says */
    bool bound;    /* its numbers are lower bounds if the table's are */
    bool below;    /* in text its value is on a separate line below the row */
    bool beside; /* TEXT: in text, at the end of the row; it is shown rather than `spare` columns */
    int width;   /* in text, or 0 for the type's width */
    int spare;   /* in text: hidden if there is too little room, 1 first; 0: never */
    const char *lead; /* in text, printed before the value, or NULL for two spaces */
    /* for people: */
    struct {
        bool set;
        enum mpr_type type;
        size_t at;
        enum mpr_member c_type;
        mpr_getter *get;
    } shown;           /* another value: MPR_SHOWN, MPR_SHOWN_FIELD */
    bool titled;       /* the table may replace its title (lines.bytes_title) */
    bool fits;         /* TEXT: in text it is as wide as its longest text */
    const char *after; /* key of the column after which it is shown, or NULL */
    bool errors; /* after it, lines have a column with the standard errors of their bytes, if there
                    are any */
    int share; /* after it there is a column with shares of `whole`; this is that column's `spare`,
                  or MPR_SHARE_FIRST */
    bool if_any;              /* hidden if all its values are 0 or "" */
    enum mpr_order sorted_by; /* never spare if lines are sorted by this amount */
    bool if_sorted;           /* hidden if lines are sorted by another amount */
};

#define MPR_FIELD(row, member)                                                                     \
    .at = offsetof(struct row, member), .c_type = MPR_MEMBER(((struct row *)0)->member)
#define MPR_CONTEXT(row, member)    MPR_FIELD(row, member), .of_context = true
#define MPR_PATH_FIELD(row, member) .type = MPR_PATH, MPR_FIELD(row, member)
/* An array of texts; count: the member with their number. */
#define MPR_TEXTS_FIELD(row, member, count)                                                        \
    .type = MPR_TEXTS, .only = MPR_IN_JSON, MPR_FIELD(row, member),                                \
    .also = offsetof(struct row, count)
/* The value that people see instead: that of a function, or of another member. */
#define MPR_SHOWN(as, function) .shown = { true, as, 0, MPR_AS_U64, function }
#define MPR_SHOWN_FIELD(as, row, member)                                                           \
    .shown = { true, as, offsetof(struct row, member), MPR_MEMBER(((struct row *)0)->member), NULL }
/* Columns of CSV: a member of the log's summary, the log's path, and a row's site with its
 * caller, by which programs join reports. Rows with sites must begin with a struct mpr_row. */
#define MPR_OF_LOG(member) MPR_FIELD(mpr_summary, member), .of_log = true, .only = MPR_IN_CSV
// clang-format off
#define MPR_LOG_COLUMN { .key = "log", .type = MPR_TEXT, MPR_OF_LOG(path) }
#define MPR_SITE_COLUMNS                                                                           \
    { .key = "site", .type = MPR_PATH, .c_type = MPR_AS_SITE, .only = MPR_IN_CSV },                  \
    { .key = "caller", .type = MPR_TEXT, .c_type = MPR_AS_SITE_CALLER, .only = MPR_IN_CSV }
// clang-format on

enum { MPR_SHARE_FIRST = -1 };
enum { MPR_WIDE = -1 }; /* as wide as a path, which depends on the terminal */

/* ---- tables */

enum mpr_shape {
    MPR_OBJECTS, /* in JSON a list of objects */
    MPR_LISTS,   /* in JSON a list of lists */
    MPR_MEMBERS, /* in JSON one object; its keys are the first column */
    MPR_FACTS    /* one row: fields of the open object of JSON */
};

/* How people see the rows: those whose paths read the same, or differ only in a number, are one
 * line (naming.h). */
struct mpr_lines {
    bool merged;
    struct mpr_row (*row_of)(const void *row); /* a row's path and amounts, or NULL if rows begin
                                                  with a struct mpr_row */
    /* Sets those members of a line that the columns' rules do not. The line is a copy of the
     * first of its two or more rows, merged by the rules. */
    void (*join)(struct mpr_arena *arena, void *line, const void *const *row, size_t rows);
    int (*compare)(const void *left, const void *right); /* the order of lines, or of rows
                                                            that are not merged, or NULL */
    const char *bytes_title; /* replaces the title of a `titled` column */
    bool empty;              /* rows without bytes are also merged if only a number differs */
    bool siblings;  /* a note says how large the lines are with which an outlier is compared */
    bool inherited; /* the note also says "inherited" if the range of another thread allocated the
                       bytes */
};

struct mpr_table {
    const char *key;   /* in JSON, or NULL if it has no table */
    const char *title; /* for people, the heading, or NULL for none */
    unsigned only;     /* mask of formats, or 0 for text, JSON and the page */
    const struct mpr_column *column;
    size_t columns;
    const void *row;
    size_t rows, stride; /* stride: bytes from row to row */
    const size_t *order; /* order of the rows for people, or NULL for that in memory */
    const void *context; /* for getters and for columns with of_context; by default the document */
    uint64_t whole;      /* the total of SHARE columns */
    uint64_t tick;       /* unit of the last digit of a time, ns, or 0 for 1 ms */
    size_t top;          /* rows that people see without --top, or 0 for MPR_TOP */
    size_t idle;         /* number of rows at the end that people do not see */
    unsigned all;        /* mask of formats that ignore --top */
    const char *omitted; /* key of the omitted rows' sum in JSON; NULL: "omitted_KEY" with the sum
                            and the number of rows; "": neither. Unused if all rows are shown */
    enum mpr_shape shape;
    bool (*estimated)(const void *row);
    enum mpr_group by; /* the grouping of its paths */
    bool bounds;       /* its numbers are lower bounds, because the log does not have all events */
    bool partial;      /* the rows are a selection, and omitted ones are not counted */
    const char *total; /* for people, title of a last row with the columns' sums, or NULL */
    bool flush;        /* in text rows are not indented */
    struct mpr_lines lines;
    struct {
        const char *of, *in; /* frames before the path: a text, and the value of the column with
                                this key; or NULL */
        const char *bytes;   /* key of the column with the bytes, or NULL for no flame graph */
        const char *before;  /* key of the column with the baseline's bytes, or NULL */
    } folded;                /* rows as call stacks, for flame graphs, whatever `only` says */
    /* Set by mpr_doc_table: */
    uint64_t epoch; /* start of the log's process (CLOCK_REALTIME ns) if people see times of day, or
                       0 */
    struct mpr_document *doc;
    const struct mpr_summary *log;
    const struct mpr_line *line; /* the line that is the row, if rows are lines */
    const char *const *note;     /* the notes of the lines */
};

enum { MPR_TOP = 20 };

bool mpr_column_is_in(const struct mpr_column *column, enum mpr_format format);
/* Returns true if the format has the column's sum. */
bool mpr_column_has_sum(const struct mpr_column *column, enum mpr_format format);
bool mpr_table_is_in(const struct mpr_table *table, enum mpr_format format);
/* Returns row i, for people in `order`. */
const void *mpr_table_row(const struct mpr_table *table, size_t i, enum mpr_format format);
/* Returns the number of rows that the format shows. @top: --top, or 0 if it is not given. Then a
 * single remaining row is shown as well, because the line about it would be as long. */
size_t mpr_table_shown(const struct mpr_table *table, size_t top, enum mpr_format format);
struct mpr_value mpr_table_cell(const struct mpr_table *table, const struct mpr_column *column,
                                const void *row);
/* Returns the sum of a column from a row on; it is unknown if all values are. */
struct mpr_value mpr_table_sum(const struct mpr_table *table, const struct mpr_column *column,
                               size_t from, enum mpr_format format);

/* Returns the table that people see in the formats @only, in the document's arena, or NULL if it
 * is the same as for programs. */
const struct mpr_table *mpr_table_view(struct mpr_document *doc, const struct mpr_table *table,
                                       unsigned only);

/* ---- documents */

struct mpr_naming;
struct mpr_summary;

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
    bool list;       /* OPEN, CLOSE: a list of objects without keys */
    int hang; /* LINE: indentation of continuation lines in text; 0: they begin below the text after
                 the label */
    bool whole;        /* LINE: it is never wrapped */
    const char *label; /* LINE: the word of its first run, "" if the line continues the one before
                          it, or NULL */
    union {
        struct mpr_item *around;       /* OPEN: the item around it */
        struct mpr_value value;        /* FACT */
        struct mpr_run *run;           /* LINE, or NULL if it is empty */
        const struct mpr_table *table; /* TABLE */
    };
};

struct mpr_document {
    struct mpr_arena arena;
    const struct mpr_naming *naming; /* how people see paths; owned by the caller */
    const struct mpr_summary *log;   /* the log that the following tables are about, or NULL */
    const struct mpr_process_info *started; /* the command that the user typed, or NULL if it is
                                               the log's */
    size_t top;                             /* --top, or 0; renderers cut the tables */
    bool without_folders; /* commands have the names of logs without folders, because other people
                             read the logs elsewhere */
    bool clock;           /* people see times of day, not times since the start of the process */
    uint64_t epoch;       /* start of the process, CLOCK_REALTIME ns, if `clock`, or 0 */
    struct mpr_item *first, *last, *open;
    struct mpr_run *run;          /* the last run of the line that is being written */
    const struct mpr_column *csv; /* columns of CSV, or NULL if the report has none */
    size_t csv_columns;
    bool json_ends_blank; /* JSON ends with an empty line, as memprof.oom/1 always did */
};

void mpr_doc_free(struct mpr_document *doc);
/* Removes for people the lines and tables after @item, or all if it is NULL. Programs still have
 * the tables. */
void mpr_doc_hide_after(struct mpr_document *doc, struct mpr_item *item);

/* Opens an object or a list of JSON; key: NULL in a list. */
void mpr_doc_open(struct mpr_document *doc, const char *key);
void mpr_doc_list(struct mpr_document *doc, const char *key);
void mpr_doc_close(struct mpr_document *doc);

/* Adds a field of JSON. */
void mpr_doc_fact(struct mpr_document *doc, const char *key, struct mpr_value value);
/* Adds a table, and the view of it for people if that differs. */
void mpr_doc_table(struct mpr_document *doc, const struct mpr_table *table);
#define MPR_COLUMNS(list)     .column = (list), .columns = sizeof(list) / sizeof *(list)
#define MPR_ROWS(list, count) .row = (list), .rows = (count), .stride = sizeof *(list)
/* Adds a table: its columns, its rows and their number, then other members of struct mpr_table. */
#define mpr_doc_rows(doc, list, of, count, ...)                                                    \
    mpr_doc_table(doc, &(struct mpr_table){ MPR_COLUMNS(list), MPR_ROWS(of, count), __VA_ARGS__ })
/* Adds the fields of one row, described by columns. */
#define mpr_doc_facts(doc, list, of)                                                               \
    mpr_doc_rows(doc, list, of, 1, .only = MPR_IN_JSON, .shape = MPR_FACTS)
/* Adds an object with these fields; key: NULL in a list. */
#define mpr_doc_object(doc, name, list, of)                                                        \
    (mpr_doc_open(doc, name), mpr_doc_facts(doc, list, of), mpr_doc_close(doc))
/* Adds a list of objects to JSON, whatever --top says. */
#define mpr_doc_objects(doc, name, list, of, count)                                                \
    mpr_doc_rows(doc, list, of, count, .key = (name), .only = MPR_IN_JSON, .all = MPR_IN_JSON)
#define mpr_doc_csv(doc, list)                                                                     \
    ((doc)->csv = (list), (void)((doc)->csv_columns = sizeof(list) / sizeof *(list)))

/* Adds a part of a line for people. mpr_doc_end ends the line. */
void mpr_doc_add(struct mpr_document *doc, enum mpr_tone tone, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define mpr_doc_add_plain(doc, ...) mpr_doc_add(doc, MPR_PLAIN, __VA_ARGS__)
/* Starts a line for people with a word in its own column. */
void mpr_doc_label(struct mpr_document *doc, enum mpr_tone tone, int indent, int width,
                   const char *word);
void mpr_doc_end(struct mpr_document *doc);
/* If the line is too wide, its continuation lines begin at column `hang`. */
void mpr_doc_end_wrapped(struct mpr_document *doc, int hang);
/* Adds a line, or the last part of one. */
#define mpr_doc_line(doc, ...) (mpr_doc_add_plain(doc, __VA_ARGS__), mpr_doc_end(doc))
/* The same, ending with a command that the user can copy. The line is never wrapped. */
#define mpr_doc_command(doc, ...)                                                                  \
    (mpr_doc_add_plain(doc, __VA_ARGS__), (void)((doc)->last->whole = true), mpr_doc_end(doc))
void mpr_doc_gap(struct mpr_document *doc);

/* Returns the path of a log, or of a folder of logs, as a word of a command that the user can
 * copy. */
const char *mpr_doc_log_word(struct mpr_document *doc, const char *path);

/* Amounts for sentences, in the document's memory. */
const char *mpr_doc_size(struct mpr_document *doc, uint64_t bytes);
const char *mpr_doc_count(struct mpr_document *doc, uint64_t count);
/* "1 log", "2 logs" */
const char *mpr_doc_counted(struct mpr_document *doc, uint64_t count, const char *one,
                            const char *many);
const char *mpr_doc_time(struct mpr_document *doc, uint64_t ns);
const char *mpr_doc_instant(struct mpr_document *doc, uint64_t ns, uint64_t width);
/* A duration, never shown as a time of day. */
const char *mpr_doc_duration(struct mpr_document *doc, uint64_t ns);
/* Sets the start of the process for all later times (CLOCK_REALTIME ns), or 0 if it is unknown. */
void mpr_doc_set_epoch(struct mpr_document *doc, uint64_t start);
/* Returns the names joined by " > ", or "outside any range". */
const char *mpr_doc_path(struct mpr_document *doc, struct mpr_path path);

#endif
