# cause: none
# source: a healthy program
# host: yes
seq 1 20000 | jq -s "map(. * 2) | add"
