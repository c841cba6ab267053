#!/usr/bin/python3
"""The reference of the density bench: the same capture, conversion and encoder, with a sink that discards everything.

Answers each line on standard input with the number of encoded pictures.
Usage: bare-encoder.py DISPLAY WIDTH HEIGHT FPS BITRATE_KBPS
"""
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

name, width, height, fps, kbps = sys.argv[1], *map(int, sys.argv[2:6])
Gst.init(None)
# One thread, like the media worker on one core.
pipeline = Gst.parse_launch(
    f"ximagesrc display-name={name} show-pointer=false use-damage=false ! video/x-raw,framerate={fps}/1 "
    f"! videoconvertscale ! video/x-raw,format=I420,colorimetry=bt709,width={width},height={height},pixel-aspect-ratio=1/1 "
    "! queue leaky=downstream max-size-buffers=3 max-size-bytes=0 max-size-time=0 "
    "! openh264enc usage-type=camera complexity=low rate-control=bitrate gop-size=60 enable-frame-skip=false "
    "scene-change-detection=false background-detection=false adaptive-quantization=false multi-thread=1 "
    f"slice-mode=n-slices num-slices=1 bitrate={kbps * 1000} "
    "! video/x-h264,profile=constrained-baseline ! fakesink name=sink sync=false async=false signal-handoffs=true"
)
count = 0


def encoded(*_):
    global count
    count += 1


pipeline.get_by_name("sink").connect("handoff", encoded)
pipeline.set_state(Gst.State.PLAYING)
for _ in sys.stdin:
    print(count, flush=True)
