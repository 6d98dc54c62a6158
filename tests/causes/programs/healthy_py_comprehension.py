# cause: none
# source: a healthy program
# host: yes
for _ in range(40):
    sum(x * x for x in [float(n) for n in range(50_000)])
