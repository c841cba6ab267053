#!/usr/bin/python3
"""The reference of the media benches: GStreamer's own webrtcbin sending the same display with the same encoder.

Speaks JSON lines on standard input and output: {"type": "offer"|"answer", "sdp"} and {"type": "candidate", "mline", "candidate"}.
On its data channel it accepts "key <keycode>" and "click <x> <y>" and injects them by XTEST, like the input of an app.
Usage: webrtcbin-peer.py DISPLAY FPS BITRATE_KBPS
"""
import ctypes
import json
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstWebRTC", "1.0")
gi.require_version("GstSdp", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # noqa: E402

display_name, fps, bitrate = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

x11 = ctypes.CDLL("libX11.so.6")
xtst = ctypes.CDLL("libXtst.so.6")
x11.XOpenDisplay.restype = ctypes.c_void_p
x11.XFlush.argtypes = [ctypes.c_void_p]
xtst.XTestFakeKeyEvent.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_ulong]
xtst.XTestFakeButtonEvent.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_ulong]
xtst.XTestFakeMotionEvent.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_ulong]
display = x11.XOpenDisplay(display_name.encode())


def inject(text):
    words = text.split()
    if words[0] == "key":
        code = int(words[1])
        xtst.XTestFakeKeyEvent(display, code, 1, 0)
        xtst.XTestFakeKeyEvent(display, code, 0, 0)
    elif words[0] == "click":
        xtst.XTestFakeMotionEvent(display, -1, int(words[1]), int(words[2]), 0)
        xtst.XTestFakeButtonEvent(display, 1, 1, 0)
        xtst.XTestFakeButtonEvent(display, 1, 0, 0)
    x11.XFlush(display)


def tell(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


Gst.init(None)
pipeline = Gst.parse_launch(
    f"webrtcbin name=peer bundle-policy=max-bundle latency=0 "
    f"ximagesrc display-name={display_name} use-damage=false show-pointer=false ! video/x-raw,framerate={fps}/1 "
    f"! videoconvert ! queue max-size-buffers=1 leaky=downstream "
    f"! openh264enc usage-type=screen complexity=low rate-control=bitrate bitrate={bitrate * 1000} gop-size=60 enable-frame-skip=false "
    f"! video/x-h264,profile=constrained-baseline ! h264parse ! rtph264pay config-interval=-1 aggregate-mode=zero-latency pt=96 "
    f"! application/x-rtp,media=video,encoding-name=H264,payload=96,packetization-mode=(string)1 ! peer."
)
peer = pipeline.get_by_name("peer")
loop = GLib.MainLoop()


def on_message(_channel, text):
    inject(text)


def on_offer(promise, _):
    # The description lives in the reply, which must not be collected before it is used.
    reply = promise.get_reply()
    offer = reply.get_value("offer")
    peer.emit("set-local-description", offer, Gst.Promise.new())
    tell({"type": "offer", "sdp": offer.sdp.as_text()})


def on_negotiation(_element):
    peer.emit("create-offer", None, Gst.Promise.new_with_change_func(on_offer, None))


def on_line(_source, _condition):
    line = sys.stdin.readline()
    if not line:
        loop.quit()
        return False
    message = json.loads(line)
    if message["type"] == "answer":
        _, sdp = GstSdp.SDPMessage.new_from_text(message["sdp"])
        answer = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, sdp)
        peer.emit("set-remote-description", answer, Gst.Promise.new())
    elif message["type"] == "candidate":
        peer.emit("add-ice-candidate", message["mline"], message["candidate"])
    return True


pipeline.set_state(Gst.State.READY)
channel = peer.emit("create-data-channel", "input", None)
channel.connect("on-message-string", on_message)
peer.connect("on-negotiation-needed", on_negotiation)
peer.connect("on-ice-candidate", lambda _e, mline, text: tell({"type": "candidate", "mline": mline, "candidate": text}))
pipeline.set_state(Gst.State.PLAYING)
GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, on_line)
try:
    loop.run()
finally:
    pipeline.set_state(Gst.State.NULL)
