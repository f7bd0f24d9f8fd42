#!/usr/bin/env bash
# Package: paho-mqtt 2.2.0 (PyPI), mosquitto 2.0.11 (Debian 12)
# Behaviour: publish() with QoS 1 before the connection returns MQTT_ERR_NO_CONN, yet keeps the
#   message and sends it after connecting; a program that tries again publishes twice.
# Expected: an error code says that the message was not taken; with QoS 0 that is so.
# Seen: QoS 0 and QoS 1 both error 4; the broker then gets the message of QoS 1 (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    paho-mqtt==2.2.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
unpack() { # Unpack Debian packages below root/, without installing them.
    apt-get -qq download "$@" 2>log ||
        { echo "not checked: $(grep ^E: log | head -1)" >&2; exit 3; }
    for file in *.deb; do dpkg -x "$file" root; done
    for folder in root/usr/lib/*-linux-gnu root/lib/*-linux-gnu; do
        [ ! -d "$folder" ] || LD_LIBRARY_PATH=$work/$folder:${LD_LIBRARY_PATH:-}
    done
    export LD_LIBRARY_PATH PATH=$work/root/usr/bin:$work/root/usr/sbin:$PATH
}
need() { # Check the libraries of the tools.
    for tool; do
        missing=$(ldd "$(command -v "$tool")" | grep "not found" || true)
        [ -z "$missing" ] || { echo "not checked: needs Debian 12:" $missing >&2; exit 3; }
    done
}
unpack mosquitto=2.0.11-1.2+deb12u2 libdlt2 libcjson1 libwebsockets17 libev4 libuv1 \
    libwrap0
need mosquitto
python3 - >seen <<'END'
import socket
import subprocess
import time

import paho.mqtt.client as mqtt

with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
with open("broker.conf", "w") as file:
    file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n")
got = []
writer = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
for quality in 0, 1:
    print("QoS", quality, "error", int(writer.publish("topic", f"QoS {quality}", quality).rc))
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
broker = subprocess.Popen(["mosquitto", "-c", "broker.conf"], **quiet)
try:
    reader = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    reader.on_message = lambda _client, _data, message: got.append(message.payload.decode())
    reader.on_subscribe = lambda *_: (writer.connect("127.0.0.1", port), writer.loop_start())
    reader.on_connect = lambda client, *_: client.subscribe("topic", 1)
    for _ in range(100):
        try:
            reader.connect("127.0.0.1", port)
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    reader.loop_start()
    end = time.monotonic() + 10
    while not got and time.monotonic() < end:
        time.sleep(0.1)
    print("delivered", *got)
finally:
    broker.kill()
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
QoS 0 error 4
QoS 1 error 4
delivered QoS 1
END
