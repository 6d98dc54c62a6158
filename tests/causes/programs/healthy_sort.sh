# cause: none
# source: a healthy program
# host: yes
seq 1 300000 | sort -R | sort -n | tail -1
