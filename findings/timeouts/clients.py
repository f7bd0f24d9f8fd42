"""One client by name: a request to a server, and another three seconds later if asked for.

`python clients.py NAME HOST PORT TWICE` ends with 0 if all was answered, else prints the error.
"""

import asyncio
import importlib
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
BUILD = Path(sys.argv[0]).parent / "build"


def use(name, host, port, again):
    """Make the client's first request, and call again() before the second."""
    url = f"http://{host}:{port}/"
    match name:
        case "requests" | "httpx" | "urllib3":
            library = importlib.import_module(name)
            kinds = {"requests": "Session", "httpx": "Client", "urllib3": "PoolManager"}
            client = getattr(library, kinds[name])()
            get = client.get if name != "urllib3" else lambda url: client.request("GET", url)
            get(url)
            again() and get(url)
        case "urllib":
            import urllib.request

            urllib.request.urlopen(url).read()
        case "redis":
            import redis

            client = redis.Redis(host, port, protocol=2)
            client.ping()
            again() and client.ping()
        case "pymemcache":
            from pymemcache.client.base import Client

            client = Client((host, port))
            client.version()
            again() and client.version()
        case "psycopg":
            import psycopg

            client = psycopg.connect(f"host={host} port={port} user=a dbname=a sslmode=disable")
            again() and psycopg.ClientCursor(client).execute("select")
        case "pymysql":
            import pymysql

            client = pymysql.connect(host=host, port=port, user="a", password="")
            again() and client.ping(reconnect=False)
        case "paho-mqtt":
            import paho.mqtt.client as mqtt

            client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)

            def on_disconnect(*words):
                raise SystemExit(f"disconnected: {words[3]}")

            client.on_disconnect = on_disconnect
            client.connect(host, port)
            client.loop_forever()
        case "pika":
            import pika

            client = pika.BlockingConnection(pika.ConnectionParameters(host, port))
            client.process_data_events(None)
        case "grpcio":
            import grpc

            channel = grpc.insecure_channel(f"{host}:{port}")
            echo = channel.unary_unary("/echo/Echo")
            echo(b"x")
            again() and echo(b"x")
        case "paramiko":
            import paramiko

            client = paramiko.SSHClient()
            client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
            client.connect(host, port, username="a", password="a", look_for_keys=False)
            client.exec_command("wait")[1].read()
        case "kafka-python":
            import kafka

            kafka.KafkaProducer(bootstrap_servers=f"{host}:{port}")
        case "pymongo":
            import pymongo

            pymongo.MongoClient(host, port).admin.command("ping")
        case "dnspython":
            import dns.resolver

            dns.resolver.resolve(host, "A")
        case _:
            asyncio.run(globals()[name.replace("-", "_")](host, port, url, again))


async def aiohttp(_host, _port, url, again):
    """GET by aiohttp."""
    import aiohttp as library

    async with library.ClientSession() as session:
        async with session.get(url) as answer:
            await answer.read()
        if again():
            async with session.get(url) as answer:
                await answer.read()


async def tornado(_host, _port, url, _again):
    """GET by tornado, which opens a connection for each."""
    from tornado.httpclient import AsyncHTTPClient

    await AsyncHTTPClient().fetch(url)


async def asyncpg(host, port, _url, again):
    """Query by asyncpg."""
    import asyncpg as library

    client = await library.connect(host=host, port=port, user="a", database="a", ssl=False)
    if again():
        await client.execute("select")


async def nats_py(host, port, _url, _again):
    """Wait on a subscription of NATS."""
    import nats

    client = await nats.connect(f"nats://{host}:{port}")
    while not client.is_closed and not client.is_reconnecting:
        await asyncio.sleep(1)
    raise ConnectionError("disconnected")


async def websockets(host, port, _url, _again):
    """Wait for a message of a WebSocket."""
    from websockets.asyncio.client import connect

    async with connect(f"ws://{host}:{port}/") as client:
        await client.recv()


async def asyncssh(host, port, _url, _again):
    """Wait for a remote command by asyncssh."""
    import asyncssh as library

    async with library.connect(host, port, username="a", known_hosts=None) as client:
        await client.run("wait", check=True)


async def aiodns(host, _port, _url, _again):
    """Resolve by c-ares."""
    import aiodns as library

    await library.DNSResolver().query_dns(host, "A")


def command(name, host, port, twice):
    """Return the command line of a client that is no Python."""
    urls = [f"http://{host}:{port}/"] * (1 + twice)
    quiet = "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes"
    ssh = [word for option in quiet for word in ("-o", option)]
    return {
        "curl": ["curl", "-sS", "--rate", "20/m", *urls],
        "wget": ["wget", "-nv", "-O", "/dev/null", "--wait=3", *urls],
        "OpenSSH": ["ssh", *ssh, "-p", str(port), f"a@{host}", "wait"],
        "Go": [str(BUILD / "go"), *urls],
        "Node fetch": ["node", str(HERE / "fetch.mjs"), *urls],
        "Node http": ["node", str(HERE / "http.mjs"), *urls],
        "Java": ["java", "-Xint", "-cp", str(BUILD), "Get", *urls],
    }.get(name)


def main():
    """Run one client."""
    name, host, port, twice = *sys.argv[1:4], sys.argv[4] == "twice"
    if line := command(name, host, port, twice):
        sys.exit(subprocess.run(line).returncode)
    use(name, host, int(port), lambda: twice and (time.sleep(3) or True))


if __name__ == "__main__":
    main()
