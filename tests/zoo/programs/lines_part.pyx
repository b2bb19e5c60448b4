# cython: language_level=3, linetrace=True, profile=True
"""Compiled by Cython with all that it has for tracers: calls Python at two lines."""


def work(stop):
    stop()
    stop()
