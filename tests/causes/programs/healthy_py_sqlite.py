# cause: none
# source: a healthy program
# host: yes
import sqlite3

database = sqlite3.connect(":memory:")
database.execute("create table t (a integer primary key, b text)")
for n in range(20):
    database.executemany("insert or replace into t values (?, ?)", [(i % 2000, "x" * 200) for i in range(2000)])
    database.execute("select count(*), max(b) from t").fetchall()
