# cause: none
# source: a healthy program
# host: yes
seq 1 200000 | xz -6 | xz -d | wc -c
