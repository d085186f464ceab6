#!/bin/sh
# beanstalkd 1.12 (Debian bookworm, 1.12-2+b1) with its log of jobs (`-b`), greenstalk 2.1.1
# (PyPI).
#
# Guess: with the log, a restart loses nothing of a job: neither the priority that `release` gave
# it, nor the counts of `stats-job`, by which a worker buries a job that failed too often.
# Guess: the id of a job is given once.
# Seen: beanstalkd does not log a `release` without a delay. After a restart the job has the
# priority and the counts of its `put`, or of the last change that was logged. So a job that always
# fails is tried for ever if the server restarts often enough, and it comes before the jobs that it
# was put behind. A `release` with a delay and `bury` are logged.
# Seen: each restart adds one to the `buries` of a buried job.
# Seen: ids begin at 1 again if the log has no job left when the server starts.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download beanstalkd=1.12-2+b1 libsystemd0 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install greenstalk==2.1.1 2>pip.log
mkdir log
cat >try.py <<'PY'
import os
import socket
import subprocess
import time

import greenstalk

LIBRARIES = ":".join(folder for folder, _, _ in os.walk("root") if folder.endswith("-linux-gnu"))


class Server:
    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self):
        command = ["root/usr/bin/beanstalkd", "-b", "log", "-l", "127.0.0.1", "-p", str(self.port)]
        environment = dict(os.environ, LD_LIBRARY_PATH=LIBRARIES)
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        for _ in range(300):
            try:
                self.jobs = greenstalk.Client(("127.0.0.1", self.port))
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("not started")

    def stop(self):
        self.jobs.close()
        self.process.terminate()
        self.process.wait()

    def restart(self):
        self.stop()
        self.start()


def show(title, job):
    stats = server.jobs.stats_job(job)
    names = "state", "pri", "reserves", "releases", "buries"
    print(f"{title}:", ", ".join(f"{name} {stats[name]}" for name in names))


def job_after(title, *steps):
    job = server.jobs.put("send m1", priority=10)
    for step in steps:
        step(server.jobs.reserve())
    show(title, job)
    server.restart()
    show("  after a restart", job)
    server.jobs.delete(job)


def released(job):
    server.jobs.release(job, priority=90)


def released_later(job):
    server.jobs.release(job, priority=90, delay=600)


def buried(job):
    server.jobs.bury(job, priority=90)


server = Server()
try:
    job_after("released three times", released, released, released)
    job_after("released, then with a delay", released, released_later)
    job_after("buried", buried)
    server.restart()
    server.restart()
    print("the next id:", server.jobs.put("send m2"))
finally:
    server.stop()
PY
timeout 60 venv/bin/python try.py | tee seen
{
  echo 'released three times: state ready, pri 90, reserves 3, releases 3, buries 0'
  echo '  after a restart: state ready, pri 10, reserves 0, releases 0, buries 0'
  echo 'released, then with a delay: state delayed, pri 90, reserves 2, releases 2, buries 0'
  echo '  after a restart: state delayed, pri 90, reserves 2, releases 2, buries 0'
  echo 'buried: state buried, pri 90, reserves 1, releases 0, buries 1'
  echo '  after a restart: state buried, pri 90, reserves 1, releases 0, buries 2'
  echo 'the next id: 1'
} >expected
cmp expected seen
