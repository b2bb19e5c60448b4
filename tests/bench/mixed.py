"""What programs do, with the standard library: mixed.py SEED. Some hundred different stacks."""
import configparser
import decimal
import difflib
import email
import fractions
import io
import json
import random
import re
import statistics
import string
import sys
import textwrap
import tokenize
from xml.etree import ElementTree

r = random.Random(int(sys.argv[1]))
words = ["".join(r.choices(string.ascii_lowercase, k=r.randint(2, 9))) for _ in range(400)]
tree = {w: [r.random(), {v: None for v in r.sample(words, 5)}] for w in words[:60]}
mail = "From: a@example\nTo: b@example\nSubject: x\n\n" + "\n".join(words)
source = open(json.__file__).read()


def parse_json():
    json.loads(json.dumps(tree, indent=1, sort_keys=True))


def parse_mail():
    str(email.message_from_string(mail))


def compare():
    list(difflib.unified_diff(words[:80], r.sample(words, 80)))


def patterns():
    re.purge()
    for w in r.sample(words, 5):
        re.compile(f"(?:{w}|[a-z]+{w}?)*$").match(w * 3)


def text():
    textwrap.fill(" ".join(words), 60)
    string.Template("$a ${b}").substitute(a=1, b=2)


def tokens():
    list(tokenize.generate_tokens(io.StringIO(source).readline))


def numbers():
    statistics.stdev(decimal.Decimal(r.random()) for _ in range(50))
    sum(fractions.Fraction(1, r.randint(1, 99)) for _ in range(20))


def settings():
    p = configparser.ConfigParser()
    p.read_string("[a]\n" + "\n".join(f"{w} = %%{w}" for w in sorted(set(words))[:50]))
    dict(p["a"])


def markup():
    e = ElementTree.Element("a")
    for w in words[:50]:
        ElementTree.SubElement(e, w).text = w
    ElementTree.fromstring(ElementTree.tostring(e))


TASKS = [parse_json, parse_mail, compare, patterns, text, tokens, numbers, settings, markup]


def handle(task):
    task()


print("ready", flush=True)
while True:
    handle(r.choice(TASKS))
