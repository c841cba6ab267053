#!/usr/bin/python3
"""Presses a key on a display by XTEST, as soon as a line is read, and reports the time of the press.

Reads "key <keycode>" lines; answers each with the Unix time in milliseconds at which the press was handed to the X server.
Usage: inject.py DISPLAY (with XAUTHORITY in the environment if the display requires a cookie)
"""
import ctypes
import sys
import time

x11 = ctypes.CDLL("libX11.so.6")
xtst = ctypes.CDLL("libXtst.so.6")
x11.XOpenDisplay.restype = ctypes.c_void_p
x11.XSync.argtypes = [ctypes.c_void_p, ctypes.c_int]
xtst.XTestFakeKeyEvent.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_ulong]
display = x11.XOpenDisplay(sys.argv[1].encode())
if not display:
    sys.exit(f"cannot open display {sys.argv[1]}")
for line in sys.stdin:
    code = int(line.split()[1])
    now = time.time() * 1000
    xtst.XTestFakeKeyEvent(display, code, 1, 0)
    xtst.XTestFakeKeyEvent(display, code, 0, 0)
    x11.XSync(display, 0)
    sys.stdout.write(f"{now:.3f}\n")
    sys.stdout.flush()
