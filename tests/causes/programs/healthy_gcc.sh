# cause: none
# source: a healthy program
# host: yes
printf "#include <stdio.h>\nint main(void) { return puts(\"x\"); }\n" > /tmp/causes.c && gcc -O2 -c -o /dev/null /tmp/causes.c
