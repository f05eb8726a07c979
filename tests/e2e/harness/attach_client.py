# SPDX-License-Identifier: Apache-2.0
"""A jcmd command to a JVM that listens, in a process of its own because it changes its user: a JVM
talks to its own user only. Arguments: command, descriptor of the folder with the JVM's socket (no
path of a container is opened as that user), user id. Prints what the JVM answers."""
import os
import socket
import sys


def main():
    command, folder, user = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.fchdir(folder)
    os.setgroups([])
    os.setegid(user)
    os.seteuid(user)
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(".java_pid1")
        channel.sendall(b"\0".join([b"1", b"jcmd", command.encode(), b"", b"", b""]))
        while True:
            piece = channel.recv(1 << 16)
            if not piece:
                return
            sys.stdout.buffer.write(piece)


if __name__ == "__main__":
    main()
