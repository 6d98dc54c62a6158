# cause: none
# source: a healthy program
# host: yes
import argparse, asyncio, concurrent.futures, email, http.client, json, logging, sqlite3, unittest, xml.etree.ElementTree
