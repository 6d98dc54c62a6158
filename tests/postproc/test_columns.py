"""Columns are described once: at least 17 of 20 columns that people see have a key, and nine of ten in tables for both people and programs.

test_columns.py FOLDER: reads the lists of columns in the C files of the folder and prints the figures. A list belongs to a table for
both if it has columns with a key and a title. Lists of exported databases, and fields of one object, which people see as a sentence,
have only keys and do not count."""
import pathlib
import re
import sys

LIST = re.compile(r"struct mpr_column (\w+)\[[^\]]*\]\s*=\s*\{\n(.*?)\n\s*\};", re.S)


def initialisers(body):
    """Yields the text between each pair of outermost braces."""
    depth = start = 0
    for i, c in enumerate(body):
        if c == "{":
            start, depth = (i if depth == 0 else start), depth + 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                yield body[start:i]


both = titled = all_both = all_titled = 0
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.c")):
    for name, body in LIST.findall(file.read_text()):
        columns = list(initialisers(body))
        own_titled = [c for c in columns if ".title =" in c]
        own_both = [c for c in own_titled if ".key =" in c]
        all_both, all_titled = all_both + len(own_both), all_titled + len(own_titled)
        if own_both:
            both, titled = both + len(own_both), titled + len(own_titled)
print(f"tables of people and programs: {both} of {titled} columns of people have a key ({100 * both / titled:.0f} %)")
print(f"all tables: {all_both} of {all_titled} columns of people have a key ({100 * all_both / all_titled:.0f} %)")
sys.exit(both < 100 or 10 * both < 9 * titled or 20 * all_both < 17 * all_titled)
