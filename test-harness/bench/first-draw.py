#!/usr/bin/python3
"""Reports when the first picture is on a display: prints "ready", then the Unix time in milliseconds at which the pixel
in the upper left corner has become white, as the Diagnostics app draws it. Gives up after ten seconds.

Usage: first-draw.py DISPLAY
"""
import ctypes
import sys
import time

x11 = ctypes.CDLL("libX11.so.6")
x11.XOpenDisplay.restype = ctypes.c_void_p
x11.XDefaultRootWindow.argtypes = [ctypes.c_void_p]
x11.XDefaultRootWindow.restype = ctypes.c_ulong
x11.XGetImage.argtypes = [ctypes.c_void_p, ctypes.c_ulong] + [ctypes.c_int] * 2 + [ctypes.c_uint] * 2 + [ctypes.c_ulong, ctypes.c_int]
x11.XGetImage.restype = ctypes.c_void_p
x11.XGetPixel.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
x11.XGetPixel.restype = ctypes.c_ulong
x11.XDestroyImage.argtypes = [ctypes.c_void_p]

Z_PIXMAP = 2
display = x11.XOpenDisplay(sys.argv[1].encode())
if not display:
    sys.exit(f"cannot open display {sys.argv[1]}")
root = x11.XDefaultRootWindow(display)
print("ready", flush=True)
deadline = time.time() + 10
while time.time() < deadline:
    image = x11.XGetImage(display, root, 20, 20, 1, 1, 0xFFFFFFFF, Z_PIXMAP)
    pixel = x11.XGetPixel(image, 0, 0) & 0xFFFFFF
    x11.XDestroyImage(image)
    if pixel == 0xFFFFFF:
        print(f"{time.time() * 1000:.3f}", flush=True)
        sys.exit(0)
    time.sleep(0.001)
sys.exit("nothing was drawn")
