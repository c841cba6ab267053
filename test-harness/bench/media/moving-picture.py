#!/usr/bin/python3
"""Draws a picture with detail that an encoder can leave out, like games and films: panning clouds, with grain.

At a high bitrate the encoder uses the bits for the grain of each frame, so it fills its bitrate; at a low bitrate it
leaves the grain out, and a keyframe of 720p takes about 6 kB. The picture is a separate window, like that of an app.
Prints "drawing" after the first drawing.
Usage: moving-picture.py DISPLAY WIDTH HEIGHT FPS
"""
import ctypes
import math
import random
import sys
import time

x11 = ctypes.CDLL("libX11.so.6")
for function, result, arguments in (
    ("XOpenDisplay", ctypes.c_void_p, [ctypes.c_char_p]),
    ("XDefaultRootWindow", ctypes.c_ulong, [ctypes.c_void_p]),
    ("XDefaultVisual", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int]),
    ("XCreateGC", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_void_p]),
    ("XCreatePixmap", ctypes.c_ulong, [ctypes.c_void_p, ctypes.c_ulong] + [ctypes.c_uint] * 3),
    (
        "XCreateImage",
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_int, ctypes.c_char_p]
        + [ctypes.c_uint] * 2
        + [ctypes.c_int] * 2,
    ),
    (
        "XPutImage",
        ctypes.c_int,
        [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_void_p]
        + [ctypes.c_int] * 4
        + [ctypes.c_uint] * 2,
    ),
    (
        "XCopyArea",
        ctypes.c_int,
        [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_void_p]
        + [ctypes.c_int] * 2
        + [ctypes.c_uint] * 2
        + [ctypes.c_int] * 2,
    ),
    (
        "XCreateSimpleWindow",
        ctypes.c_ulong,
        [ctypes.c_void_p, ctypes.c_ulong] + [ctypes.c_int] * 2 + [ctypes.c_uint] * 3 + [ctypes.c_ulong] * 2,
    ),
    ("XStoreName", ctypes.c_int, [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_char_p]),
    ("XMapWindow", ctypes.c_int, [ctypes.c_void_p, ctypes.c_ulong]),
    ("XSetForeground", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong]),
    (
        "XFillRectangle",
        ctypes.c_int,
        [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p] + [ctypes.c_int] * 2 + [ctypes.c_uint] * 2,
    ),
    ("XFlush", ctypes.c_int, [ctypes.c_void_p]),
    ("XSync", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int]),
):
    getattr(x11, function).restype = result
    getattr(x11, function).argtypes = arguments

Z_PIXMAP = 2
# Number of different pictures, which are shown forwards and then backwards.
PICTURES = 16
# Number of pixels by which the picture moves from one frame to the next.
STEP = 2
BOXES = 24
# Bits of each colour component that contain noise.
GRAIN = 0x07

name, width, height, fps = sys.argv[1], *map(int, sys.argv[2:5])
display = x11.XOpenDisplay(name.encode())
if not display:
    sys.exit(f"cannot open display {name}")
root = x11.XDefaultRootWindow(display)
visual = x11.XDefaultVisual(display, 0)
gc = x11.XCreateGC(display, root, 0, None)
pick = random.Random(1)

# Brightness of the clouds is a sum of waves along and across, at most 200 so that grain never overflows a byte.
wide = width + PICTURES * STEP
waves = [[pick.uniform(low, high) for low, high in [(0.004, 0.02), (0, 6.3)] * 2] for _ in range(3)]
across = [[math.sin(a * x + b) for x in range(wide)] for a, b, _, _ in waves]
rows = []
for y in range(height):
    down = [math.sin(c * y + d) for _, _, c, d in waves]
    row = bytearray(wide * 4)
    for channel in range(3):
        u, v = across[channel], across[(channel + 1) % 3]
        s, t = 48 * down[channel], 48 * down[(channel + 1) % 3]
        row[channel::4] = bytes([int(100 + s * p + t * q) for p, q in zip(u, v)])
    rows.append(bytes(row))

corners = [(pick.randrange(wide), pick.randrange(height)) for _ in range(BOXES)]
boxes = [(x, y, pick.randrange(8, 64), pick.randrange(8, 64), pick.getrandbits(24)) for x, y in corners]
size = width * height * 4
mask = int.from_bytes(bytes([GRAIN, GRAIN, GRAIN, 0]) * (size // 4), "little")
pixmaps = []
for number in range(PICTURES):
    left = number * STEP * 4
    clouds = b"".join(row[left : left + width * 4] for row in rows)
    grain = int.from_bytes(pick.randbytes(size), "little") & mask
    data = (int.from_bytes(clouds, "little") + grain).to_bytes(size, "little")
    image = x11.XCreateImage(display, visual, 24, Z_PIXMAP, 0, data, width, height, 32, 0)
    pixmap = x11.XCreatePixmap(display, root, width, height, 24)
    x11.XPutImage(display, pixmap, gc, image, 0, 0, 0, 0, width, height)
    for x, y, w, h, colour in boxes:
        x11.XSetForeground(display, gc, colour)
        x11.XFillRectangle(display, pixmap, gc, x - number * STEP, y, w, h)
    x11.XSync(display, 0)
    pixmaps.append(pixmap)
window = x11.XCreateSimpleWindow(display, root, 0, 0, width, height, 0, 0, 0)
x11.XStoreName(display, window, b"moving picture")
x11.XMapWindow(display, window)
x11.XCopyArea(display, pixmaps[0], window, gc, 0, 0, width, height, 0, 0)
x11.XSync(display, 0)
print("drawing", flush=True)

order = pixmaps + pixmaps[-2:0:-1]
due = time.monotonic()
shown = 0
while True:
    x11.XCopyArea(display, order[shown % len(order)], window, gc, 0, 0, width, height, 0, 0)
    x11.XFlush(display)
    shown += 1
    due += 1 / fps
    pause = due - time.monotonic()
    if pause > 0:
        time.sleep(pause)
    else:
        due = time.monotonic()
