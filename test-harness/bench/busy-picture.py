#!/usr/bin/python3
"""Draws a picture that no encoder finds easy: rectangles of random place and colour, every frame.

So an encoder fills its bitrate, as a game does. Usage: busy-picture.py DISPLAY WIDTH HEIGHT FPS RECTANGLES
"""
import ctypes
import random
import sys
import time

x11 = ctypes.CDLL("libX11.so.6")
x11.XOpenDisplay.restype = ctypes.c_void_p
x11.XDefaultRootWindow.argtypes = [ctypes.c_void_p]
x11.XDefaultRootWindow.restype = ctypes.c_ulong
x11.XCreateGC.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_void_p]
x11.XCreateGC.restype = ctypes.c_void_p
x11.XSetForeground.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong]
x11.XFillRectangle.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p] + [ctypes.c_int] * 4
x11.XFlush.argtypes = [ctypes.c_void_p]

name, width, height, fps, count = sys.argv[1], *map(int, sys.argv[2:6])
display = x11.XOpenDisplay(name.encode())
if not display:
    sys.exit(f"cannot open display {name}")
root = x11.XDefaultRootWindow(display)
gc = x11.XCreateGC(display, root, 0, None)
pick = random.Random(1)
due = time.monotonic()
while True:
    for _ in range(count):
        x11.XSetForeground(display, gc, pick.getrandbits(24))
        size = pick.randrange(4, 48)
        x11.XFillRectangle(display, root, gc, pick.randrange(width), pick.randrange(height), size, size)
    x11.XFlush(display)
    due += 1 / fps
    pause = due - time.monotonic()
    if pause > 0:
        time.sleep(pause)
    else:
        due = time.monotonic()
