/* Instructions that begin and end a signal (SIGTRAP) after each instruction: they set a bit of the
 * flags register. Only x86-64 has it; elsewhere the texts are empty. */
#ifndef SINGLE_STEPS_H
#define SINGLE_STEPS_H

#if defined(__x86_64__)
#define STEPS_BEGIN "pushfq; orq $0x100, (%%rsp); popfq"
#define STEPS_END   "pushfq; xorq $0x100, (%%rsp); popfq"
#else
#define STEPS_BEGIN ""
#define STEPS_END   ""
#endif

#endif
