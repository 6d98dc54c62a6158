# cause: none
# source: a healthy program
# host: yes
git init -q /tmp/causes/repo && cd /tmp/causes/repo && for n in 1 2 3; do seq $n 20000 > f; git add f; git -c user.name=a -c user.email=a@b commit -qm $n; done; git log --stat -p | wc -c
