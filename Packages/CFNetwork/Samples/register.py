"""Registers a service with python-zeroconf, changes its TXT record and ends it: /usr/bin/python3 register.py TYPE"""

import socket
import sys
import time

from zeroconf import ServiceInfo, Zeroconf

kind = sys.argv[1] + ".local."


def service(path):
    address = socket.inet_aton("127.0.0.1")
    return ServiceInfo(kind, "Café." + kind, addresses=[address], port=4242, properties={"path": path}, server="peer.local.")


zeroconf = Zeroconf()
zeroconf.register_service(service("/one"))
time.sleep(2)
zeroconf.update_service(service("/two"))
time.sleep(2)
zeroconf.unregister_service(service("/two"))
zeroconf.close()
