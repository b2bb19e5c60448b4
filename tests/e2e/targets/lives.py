# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The ways in which a process comes, changes and goes; each part of a life says what it did.

    python lives.py OUT WAY [PYTHON...]

OUT gets a line for each part: pid, its role, CPU ns burnt in burn_ROLE(). A way is the
name of a function below; PYTHON is what it executes, this interpreter if not given.
"""
import os
import subprocess
import sys
import threading
import time

CPU_MS = 80
out = sys.argv[1]


def burn(role):
    """In a function of that name, whose code object is made here and now."""
    scope = {"time": time}
    exec("def burn_%s(end):\n"
         "    while time.thread_time() < end:\n"
         "        pass\n" % role if hasattr(time, "thread_time") else
         "def burn_%s(end):\n"
         "    while time.process_time() < end:\n"
         "        pass\n" % role, scope)
    clock = getattr(time, "thread_time", time.process_time)
    start = clock()
    scope["burn_" + role](start + CPU_MS / 1e3)
    line = "%d %s %d\n" % (os.getpid(), role, (clock() - start) * 1e9)
    fd = os.open(out, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(fd, line.encode())
    os.close(fd)


def again(*words):
    """argv of this program with another way."""
    python = sys.argv[3:] or [sys.executable]
    return [*python, "-S", "-E", "-B", os.path.abspath(__file__), out, *words]


# ---- ways ----

def child():
    burn("child")


def other():
    burn("other")


def posix_spawn():
    burn("parent")
    argv = again("child")
    os.waitpid(os.posix_spawn(argv[0], argv, os.environ), 0)
    burn("later")


def spawn():
    """vfork from 3.10 on."""
    burn("parent")
    subprocess.check_call(again("child"), close_fds=False)
    burn("later")


def fork():
    burn("parent")
    pid = os.fork()
    if not pid:
        burn("child")
        os._exit(0)
    burn("later")
    os.waitpid(pid, 0)


def double_fork():
    """The grandchild outlives both."""
    burn("parent")
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    burn("middle")
    if os.fork():
        os._exit(0)
    burn("grandchild")
    os._exit(0)


def daemonize():
    """As daemons do; the first process is gone at once."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    burn("daemon")
    os._exit(0)


def exec_self():
    burn("before")
    argv = again("other")
    os.execv(argv[0], argv)


def exec_thread():
    """A thread that is not the first executes: it becomes the process."""
    burn("before")
    argv = again("other")
    threading.Thread(target=lambda: os.execv(argv[0], argv)).start()
    time.sleep(60)


def end_main_thread():
    import ctypes
    ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)


def main_exits():
    """The first thread ends; the process goes on with the other."""
    def rest():
        wait_for(lambda: "State:\tZ" in open("/proc/%d/status" % os.getpid()).read())
        if os.environ.get("LIVES_WAIT"):        # until the test says so
            wait_for(lambda: os.path.exists(out + ".go"))
        burn("second")
        os._exit(0)
    burn("first")
    threading.Thread(target=rest).start()
    end_main_thread()


def wait_for(test):
    end = time.time() + 60
    while not test() and time.time() < end:
        time.sleep(0.01)


def clone_as(pid):
    """fork() with a chosen process id: clone3() with set_tid."""
    import ctypes
    import signal
    tid = ctypes.c_int32(pid)
    args = (ctypes.c_uint64 * 11)(0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(tid), 1, 0)
    # PyDLL keeps the GIL: the child is one thread, which has it
    return ctypes.PyDLL(None).syscall(435, args, ctypes.sizeof(args))


def pid_again():
    """Three processes with the same id, one after the other; the last one executes."""
    pid = os.fork()
    if not pid:
        burn("first")
        os._exit(0)
    os.waitpid(pid, 0)
    for role in ("second", "third"):
        new = clone_as(pid)
        if not new:
            if role == "third":
                argv = again("other")
                os.execv(argv[0], argv)
            burn(role)
            os._exit(0)
        if new < 0:
            sys.exit("the process id was taken meanwhile")
        os.waitpid(new, 0)


globals()[sys.argv[2]]()
