#include "step_lines.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "naming.h"

/* What instances of one name have behind it: "6" of "step:6". */
static const char *number_of(const char *first, const char *last)
{
    const char *colon = strrchr(last, ':');
    if (!colon || colon[1 + strspn(colon + 1, "0123456789")]) return NULL;
    return strncmp(first, last, (size_t)(colon - last) + 1) == 0 ? colon + 1 : NULL;
}

const char *mpr_step_names(struct mpr_document *doc, uint64_t count, const char *first,
                           const char *last)
{
    const char *number = number_of(first, last);
    return count > 1 ? mpr_arena_format(&doc->arena, "%s to %s", first, number ? number : last)
                     : first;
}

static size_t top_of(const struct mpr_document *doc) { return doc->top ? doc->top : MPR_TOP; }

static bool stands_out(const struct mpr_step *s) { return s->peak_out || s->kept_out; }

/* ---- those that are alike */

static bool near(int64_t a, int64_t b, uint64_t most)
{
    return llabs(mpr_minus(a, b)) <= mpr_amount(most);
}

/* Neither stands out, and peaks and what they kept differ by a fiftieth of the median peak at most.
 */
static bool alike(const struct mpr_step *a, const struct mpr_step *b, uint64_t median)
{
    return !*a->note && !*b->note &&
           near(mpr_amount(a->peak_bytes), mpr_amount(b->peak_bytes), median / 50) &&
           near(a->kept, b->kept, median / 50);
}

static void add(struct mpr_step *to, const struct mpr_step *s)
{
    to->count += s->count;
    to->joined += s->joined;
    to->outs += s->outs;
    to->last = s->last;
    to->end_ns = s->end_ns;
    to->end_bytes = s->end_bytes;
    to->allocations += s->allocations;
    to->kept = mpr_plus(to->kept, s->kept);
    if (s->peak_bytes > to->peak_bytes) to->peak_bytes = s->peak_bytes;
    if (s->least_bytes < to->least_bytes) to->least_bytes = s->least_bytes;
}

static struct mpr_step line_of(const struct mpr_step *s)
{
    struct mpr_step line = *s;
    line.least_bytes = s->peak_bytes;
    line.joined = 1;
    line.outs = stands_out(s);
    return line;
}

static size_t join_alike(const struct mpr_step *step, size_t steps, uint64_t median,
                         struct mpr_step *line)
{
    size_t lines = 0;
    for (size_t i = 0, next; i < steps; i = next) {
        struct mpr_step *l = &line[lines++];
        *l = line_of(&step[i]);
        for (next = i + 1; next < steps && alike(&step[i], &step[next], median); next++) {
            const struct mpr_step other = line_of(&step[next]);
            add(l, &other);
        }
    }
    return lines;
}

/* ---- too many */

static int by_peak(const void *left, const void *right)
{
    const struct mpr_step *const *a = left, *const *b = right;
    if ((*a)->peak_bytes != (*b)->peak_bytes) return (*a)->peak_bytes > (*b)->peak_bytes ? -1 : 1;
    return (*a)->number < (*b)->number ? -1 : 1;
}

/* What stands out is told with what is between: of too many the largest. */
static void choose_told(struct mpr_step *line, size_t lines, size_t top)
{
    struct mpr_step **out = mpr_alloc(lines, sizeof *out);
    size_t outs = 0, told = 0;
    for (size_t i = 0; i < lines; i++) {
        told += line[i].told;
        if (stands_out(&line[i]) && !line[i].told) out[outs++] = &line[i];
    }
    if (outs) qsort(out, outs, sizeof *out, by_peak);
    for (size_t i = 0; i < outs && 2 * told + 3 <= top; i++, told++) out[i]->told = true;
    free(out);
}

/* Neighbours of so many instances at most together. */
static size_t join_neighbours(struct mpr_step *line, size_t lines, uint64_t most)
{
    size_t left = 0;
    for (size_t i = 0; i < lines; i++) {
        struct mpr_step *last = left ? &line[left - 1] : NULL;
        if (last && !last->told && !line[i].told && !line[i].unended &&
            last->joined + line[i].joined <= most)
            add(last, &line[i]);
        else line[left++] = line[i];
    }
    return left;
}

static size_t join_enough(struct mpr_step *line, size_t lines, size_t steps, size_t top)
{
    if (lines <= top) return lines;
    choose_told(line, lines, top);
    for (uint64_t most = 2; lines > top && most < 2 * steps; most *= 2)
        lines = join_neighbours(line, lines, most);
    return lines;
}

/* ---- lines */

/* What its instances kept, but no more than there is in the end: others may have freed it. */
static void bound_kept(struct mpr_step *line)
{
    const int64_t there = mpr_change(line->begin_bytes, line->end_bytes);
    if (line->kept > there) line->kept = there;
}

/* "58 alike", "310, least 310.00 MiB, 2 stand out" */
static const char *note_of(struct mpr_document *doc, const struct mpr_step *line, uint64_t median)
{
    const char *count = mpr_doc_count(doc, line->count);
    if (!line->outs &&
        near(mpr_amount(line->peak_bytes), mpr_amount(line->least_bytes), median / 50))
        return mpr_arena_format(&doc->arena, "%s alike", count);
    const char *text =
        mpr_arena_format(&doc->arena, "%s, least %s", count, mpr_doc_size(doc, line->least_bytes));
    return !line->outs
               ? text
               : mpr_arena_format(&doc->arena, "%s, %s stand%s out", text,
                                  mpr_doc_count(doc, line->outs), line->outs == 1 ? "s" : "");
}

static void finish(struct mpr_document *doc, struct mpr_step *line, uint64_t median)
{
    bound_kept(line);
    line->name = mpr_step_names(doc, line->count, line->name, line->last);
    line->shown = mpr_frame_named(&doc->arena, MPR_FRAME_LABEL, line->name);
    if (line->joined > 1) line->note = note_of(doc, line, median);
}

/* Where there is room for one alone it is the one with the larger peak. */
static void tell_one(struct mpr_step *line, size_t lines, size_t top)
{
    struct mpr_step *largest = NULL;
    for (size_t i = 0; i < lines && top == 1; i++) {
        if (!line[i].told) continue;
        if (largest) (line[i].peak_bytes > largest->peak_bytes ? largest : &line[i])->told = false;
        if (!largest || line[i].told) largest = &line[i];
    }
}

/* The told ones, and of the others the first. */
static const size_t *order_of(struct mpr_document *doc, const struct mpr_step *line, size_t lines,
                              size_t top)
{
    size_t *order = mpr_arena_alloc(&doc->arena, lines * sizeof *order);
    size_t told = 0, at = 0;
    for (size_t i = 0; i < lines; i++) told += line[i].told;
    size_t room = top > told ? top - told : 0, rest = 0;
    for (size_t i = 0; i < lines; i++) {
        if (line[i].told || rest < room) order[at++] = i;
        rest += !line[i].told;
    }
    rest = 0;
    for (size_t i = 0; i < lines; i++)
        if (!line[i].told && rest++ >= room) order[at++] = i;
    return order;
}

/* A line of several instances has the largest of their peaks: how far it is from that of the line
 * before. */
static void tell_changes(struct mpr_step *line, size_t lines)
{
    for (size_t i = 1; i < lines; i++)
        line[i].change = mpr_change(line[i - 1].peak_bytes, line[i].peak_bytes);
}

struct mpr_step_lines mpr_step_lines(struct mpr_document *doc, const struct mpr_step *step,
                                     size_t steps, uint64_t median)
{
    const bool unfold = doc->naming && doc->naming->unfold;
    const size_t top = top_of(doc);
    struct mpr_step *line = mpr_arena_alloc(&doc->arena, steps * sizeof *line);
    size_t lines = steps;
    if (unfold)
        for (size_t i = 0; i < steps; i++) line[i] = line_of(&step[i]);
    else lines = join_enough(line, join_alike(step, steps, median, line), steps, top);
    for (size_t i = 0; i < lines; i++) finish(doc, &line[i], median);
    tell_changes(line, lines);
    tell_one(line, lines, top);
    const bool one_more = !doc->top && lines == top + 1; /* is shown, too */
    return (struct mpr_step_lines){ line, lines, order_of(doc, line, lines, top + one_more) };
}
