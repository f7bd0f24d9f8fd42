"""Run all clients at once in h1, and print the seconds of each until it gave up."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

FAULT, NAMES = sys.argv[1], sys.argv[2:]
LIMIT = 21_600  # seconds: above 20 tries of 900 s
PEER = {"syn": "10.0.0.77", "dns": None}.get(FAULT, "10.0.0.2")
CLIENTS = str(Path(__file__).with_name("clients.py"))


def run(name, port, results):
    """Run one client."""
    host = PEER or f"c{port}.example"
    line = [sys.executable, CLIENTS, name, host, str(port), "twice" if FAULT == "half" else "once"]
    started = time.monotonic()
    client = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        text = client.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        client.kill()
        text = "still waiting"
    last = (text.strip().splitlines() or ["-"])[-1][:150]
    results[name] = (round(time.monotonic() - started, 1), client.poll(), last)


def main():
    """Prepare the host, and run."""
    for address, mac in ("10.0.0.77", "02:00:00:00:00:99"), ("10.0.0.2", "02:00:00:00:00:02"):
        line = f"ip neigh replace {address} lladdr {mac} dev h1-eth0 nud permanent"
        subprocess.run(line.split(), check=True)
    for name, text in ("resolv", "nameserver 10.0.0.2\n"), ("nsswitch", "hosts: files dns\n"):
        Path(f"/tmp/{name}.conf").write_text(text)
        line = ["mount", "--bind", f"/tmp/{name}.conf", f"/etc/{name}.conf"]
        subprocess.run(line, check=True)
    os.environ.update(HOME="/tmp", PYTHONWARNINGS="ignore")
    results = {}
    threads = [
        threading.Thread(target=run, args=[name, port, results])
        for port, name in enumerate(NAMES, 10000)
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.1)  # virtual: one program starts after the other
    for thread in threads:
        thread.join()
    print("RESULTS", json.dumps(results))


main()
