/* The built page: mpr_page and mpr_page_bytes of postproc's render/page.h. */
    .section .rodata
    .globl mpr_page
    .hidden mpr_page
mpr_page:
    .incbin "page.html"
end_of_page:
    .balign 8
    .globl mpr_page_bytes
    .hidden mpr_page_bytes
mpr_page_bytes:
    .quad end_of_page - mpr_page
    .section .note.GNU-stack, "", @progbits
