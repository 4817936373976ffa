"""The sandbox in which code that a model writes is run: its Python, its walls, and one interpreter a document.

limits        what code may take
environment   the Python inside: made once from pinned requirements, kept beside other caches
walls         the command that starts it: bubblewrap, docker, podman, or none
cgroup        the group that bounds it, where one may be made
interpreter   one of them as this process sees it: questions and answers as JSON lines, bounded
pool          warm ones, all started by one thread
check         every wall, tried from inside
inside        the program in the sandbox, which needs nothing of the rest
verb          `mm-eval sandbox make | check`
"""
