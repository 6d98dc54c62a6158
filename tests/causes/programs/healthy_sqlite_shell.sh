# cause: none
# source: a healthy program
# host: yes
python3 -c "import sqlite3; c = sqlite3.connect(':memory:'); c.execute('create table t(x)'); c.executemany('insert into t values(?)', ((i,) for i in range(100000))); print(c.execute('select sum(x) from t').fetchone())"
