# cause: none
# source: a healthy program
# host: yes
find /usr/share -name "*.mo" | head -100000 | wc -l
