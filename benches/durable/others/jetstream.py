"""A work queue of JetStream without a journal in front: calls lost and effects that happened twice.

    python jetstream.py CALLS KILLS WIPES     needs nats-server and the package nats-py

A call is accepted once the server has acknowledged its message. A worker appends a line to a file for each, and acknowledges
the message then. The worker is killed at random moments, the server as often; WIPES times the store of the server is deleted
while it is down.
"""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter

import nats
from nats.js.api import ConsumerConfig, RetentionPolicy, StreamConfig

FOLDER = os.environ.get("LEDGER") or tempfile.mkdtemp(prefix="jetstream-")
PORT = int(os.environ.get("NATS_PORT", 14222))


async def connected():
    client = await nats.connect(f"nats://127.0.0.1:{PORT}", max_reconnect_attempts=-1, reconnect_time_wait=0.1)
    stream = client.jetstream()
    while True:
        try:
            await stream.add_stream(StreamConfig(name="calls", subjects=["calls.*"], retention=RetentionPolicy.WORK_QUEUE))
            return client, stream
        except Exception:
            await asyncio.sleep(0.1)


async def work():
    _, stream = await connected()

    async def run(message):
        with open(f"{FOLDER}/effects", "a") as world:
            world.write(message.data.decode() + "\n")
        await asyncio.sleep(0.02)
        await message.ack()

    while True:
        try:
            await stream.add_stream(StreamConfig(name="calls", subjects=["calls.*"], retention=RetentionPolicy.WORK_QUEUE))
            pulled = await stream.pull_subscribe("calls.*", "workers", config=ConsumerConfig(ack_wait=1))
            while True:
                messages = await pulled.fetch(32, timeout=1)
                await asyncio.gather(*(run(message) for message in messages), return_exceptions=True)
        except Exception:
            await asyncio.sleep(0.1)


async def submit(count):
    _, stream = await connected()
    for n in range(count):
        while True:
            try:
                await stream.publish("calls.one", str(n).encode(), timeout=1, headers={"Nats-Msg-Id": str(n)})
                print(n, flush=True)
                break
            except Exception:
                await asyncio.sleep(0.05)


def serve():
    with open(f"{FOLDER}/server.conf", "w") as file:
        file.write(f'listen: "127.0.0.1:{PORT}"\njetstream {{ store_dir: "{FOLDER}/store" }}\n')
    return subprocess.Popen(["nats-server", "-c", f"{FOLDER}/server.conf"], stderr=subprocess.DEVNULL)


def main():
    count, kills, wipes = (int(text) for text in sys.argv[1:4])
    os.environ["LEDGER"] = FOLDER
    start = lambda *role: subprocess.Popen([sys.executable, __file__, *role], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    random.seed(7)
    server, worker = serve(), start("work")
    with open(f"{FOLDER}/accepted", "w") as accepted:
        submitter = subprocess.Popen([sys.executable, __file__, "submit", str(count)], stdout=accepted, stderr=subprocess.DEVNULL)
    for at in range(kills):
        time.sleep(random.uniform(0.3, 0.9))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        server.send_signal(signal.SIGKILL)
        server.wait()
        if wipes and at % (kills // wipes) == kills // wipes // 2:
            shutil.rmtree(f"{FOLDER}/store", ignore_errors=True)
        server, worker = serve(), start("work")
    submitter.wait(timeout=300)
    quiet, before = 0, -1
    while quiet < 8:
        time.sleep(1)
        now = os.path.getsize(f"{FOLDER}/effects")
        quiet, before = (quiet + 1, now) if now == before else (0, now)
    for process in (worker, server):
        process.kill()
        process.wait()
    accepted = open(f"{FOLDER}/accepted").read().split()
    effects = Counter(open(f"{FOLDER}/effects").read().split())
    lost = sum(1 for n in accepted if n not in effects)
    twice = sum(1 for times in effects.values() if times > 1)
    print(f"{len(accepted)} accepted, {kills} workers and servers killed, {wipes} stores deleted: {lost} without an effect, {twice} more than once")
    shutil.rmtree(FOLDER, ignore_errors=True)


if sys.argv[1] == "work":
    asyncio.run(work())
elif sys.argv[1] == "submit":
    asyncio.run(submit(int(sys.argv[2])))
else:
    main()
