"""An app that tries to access resources of others. TARGETS in its environment lists these resources, so that the
app need not guess them. It writes one line for each attempt that was NOT refused, then the number of attempts, and
exits."""
import ctypes, glob, json, os, socket, sys

targets = json.loads(os.environ["TARGETS"])
attempts = 0
libc = ctypes.CDLL(None, use_errno=True)


def refused(name, act):
    """act returns a true value if the attempt succeeded."""
    global attempts
    attempts += 1
    try:
        if not act():
            return
    except (OSError, EOFError):
        return
    print("REACHED", name, flush=True)


def connects(address):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(2)
        s.connect(address)
    return True


def speaks_bus(address):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(2)
        s.connect(address)
        s.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        return s.recv(64).startswith(b"OK")


def reads(path):
    if os.path.isdir(path):
        os.listdir(path)
        return True
    with open(path, "rb") as f:
        f.read(1)
    return True


def writes(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    return True


def opens_device(path):
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    return True


number = targets["display"]
refused("display, abstract socket", lambda: connects(f"\0/tmp/.X11-unix/X{number}"))
refused("display, socket file", lambda: connects(f"/tmp/.X11-unix/X{number}"))
refused("sound", lambda: connects(targets["sound"]))
refused("session bus", lambda: speaks_bus(targets["bus"]))
for path in targets["secrets"]:
    refused("read " + path, lambda: reads(path))
for path in targets["directories"]:
    refused("list " + path, lambda: reads(path))
    refused("write in " + path, lambda: writes(os.path.join(path, "footlight-was-here")))

# The app must see only its own process tree. The attack tries every process that /proc lists.
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
        command = open(f"/proc/{pid}/cmdline").read()
    except OSError:
        continue
    if owner != os.getuid():
        refused(f"environment of {pid}", lambda: reads(f"/proc/{pid}/environ"))
        refused(f"memory of {pid}", lambda: opens_device(f"/proc/{pid}/mem"))
        refused(f"signal to {pid}", lambda: os.kill(int(pid), 0) is None)
    refused(f"sight of {command}", lambda: any(word in command for word in ("worker-main", "Xvfb", "main.js")))

found = glob.glob("/dev/input/event*")
refused("sight of what is tried", lambda: not set(targets["input_devices"]) <= set(found))
for device in found + ["/dev/uinput", "/dev/mem", "/dev/kmsg", "/dev/tty"] + targets["disks"]:
    refused(device, lambda: opens_device(device))
refused("mount", lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)
refused("unmount /tmp", lambda: libc.umount2(b"/tmp", 2) == 0)
refused("user 0", lambda: libc.setuid(0) == 0)
status = dict(line.split(":\t") for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
for field in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
    refused(field, lambda: int(status[field], 16) != 0)
refused("rights of programs with the setuid bit", lambda: status["NoNewPrivs"] != "1")
refused("groups of others", lambda: set(os.getgroups()) - {os.getgid()} - set(targets["gpu_groups"]))

print("attempts", attempts, flush=True)
sys.exit(1)
