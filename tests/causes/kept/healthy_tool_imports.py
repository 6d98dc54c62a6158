# cause: none
# host: yes
# source: a healthy program: a tool whose start-up imports much and builds tables, and which then works through its input
import argparse
import ast
import asyncio
import calendar
import ctypes
import decimal
import difflib
import email.message
import html.parser
import http.client
import inspect
import multiprocessing
import pydoc
import sqlite3
import ssl
import tarfile
import textwrap
import time
import unittest
import urllib.request
import xml.dom.minidom


def build_tables():
    decoded = {code: html.unescape(f"&#{code};") for code in range(32, 6000)}
    pages = [bytes(range(256)) * 128 for _ in range(1000)]
    return decoded, pages


def process(name, tables):
    source = inspect.getsource(name)
    tree = ast.parse(source)
    words = textwrap.wrap(source[:4000], 60)
    return sum(1 for _ in ast.walk(tree)) + len(words) + len(tables[1])


tables = build_tables()
modules = [argparse, calendar, difflib, tarfile, textwrap, pydoc]
total = 0
for turn in range(4):
    for module in modules:
        total += process(module, tables)
        time.sleep(0.05)
print(total, decimal.Decimal(1) / 3, sqlite3.sqlite_version, ssl.OPENSSL_VERSION, ctypes.sizeof(ctypes.c_long))
print("{}")
