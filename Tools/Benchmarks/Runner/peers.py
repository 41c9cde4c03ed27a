"""The peers: plain TCP servers, nginx, lighttpd, vsftpd, a name service. Each is started when a row first needs it, on loopback
and a free port, and stopped by process id when the run ends for any reason."""

import hashlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import heads

# The kernel ends a peer if the runner is killed.
WITH_RUNNER = ["setpriv", "--pdeathsig", "TERM"]

HOST_IN_HOSTS = "in-hosts.bench.test"
HOST_IN_DNS = "in-dns.bench.test"


class Unavailable(Exception):
    """The reason why this machine cannot run a peer or a program."""


class Peers:
    def __init__(self, peer_program, data):
        self.peer_program = peer_program
        self.data = data
        self.directory = Path(tempfile.mkdtemp(prefix="netkit-bench-"))
        self.processes = []
        self.started = {}
        cpus = sorted(os.sched_getaffinity(0))
        self.client_cpu, self.server_cpu = cpus[0], cpus[min(1, len(cpus) - 1)]

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def client_prefix(self, group, variant):
        """The prefix of a client's command line."""
        prefix = self.once("names", NameService, self).prefix() if group.namespace else []
        if variant.system_authorities:
            prefix += ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                       'mount --bind "$0" /etc/ssl/certs/ca-certificates.crt && exec "$@"', str(self.certificates())]
        return prefix + ([] if group.placement == "free" else ["taskset", "-c", str(self.client_cpu)])

    def arguments(self, variant, group, size):
        """The variant's arguments; starts the peers that they name."""
        return variant.arguments.format_map(Placeholders(self, group, size)).split()

    # Starting peers

    def once(self, key, start, *arguments):
        if key not in self.started:
            self.started[key] = start(*arguments)
        return self.started[key]

    def spawn(self, command, cpu=None, **options):
        pinned = [] if cpu is None else ["taskset", "-c", str(cpu)]
        if not shutil.which(command[0]):
            raise Unavailable(f"{command[0]} is not installed (Scripts/bootstrap --bench)")
        process = subprocess.Popen([*pinned, *command], start_new_session=True, **options)
        self.processes.append(process)
        return process

    def tcp_peer(self, mode, group, *arguments):
        cpu = {"split": self.server_cpu, "shared": self.client_cpu, "free": None}[group.placement]
        return self.once((mode, cpu, *arguments), self.start_tcp_peer, mode, cpu, arguments)

    def start_tcp_peer(self, mode, cpu, arguments):
        command = [*WITH_RUNNER, str(self.peer_program()), mode, *arguments]
        line = self.spawn(command, cpu, stdout=subprocess.PIPE, text=True).stdout.readline()
        if not line.startswith("port "):
            raise Unavailable(f"bench-peer {mode} did not start")
        return line.split()[1]

    def certificates(self):
        return self.once("certificates", make_certificates, self.directory)

    def web(self):
        return self.once("web", WebServer, self)

    def digest(self):
        return self.once("digest", DigestServer, self)

    def ftp(self):
        return self.once("ftp", FTPServer, self)

    def heads(self):
        return self.once("heads", heads.write, self.directory)


class Placeholders(dict):
    """The values of the placeholders in a variant's arguments."""

    def __init__(self, peers, group, size):
        super().__init__(
            {
                "size": lambda: size,
                "data": lambda: peers.data,
                "requests": lambda: peers.heads()["requests"],
                "responses": lambda: peers.heads()["responses"],
                "send": lambda: peers.tcp_peer("send", group, f"bytes={size}"),
                "sink": lambda: peers.tcp_peer("sink", group),
                "echo": lambda: peers.tcp_peer("echo", group),
                "hold": lambda: peers.tcp_peer("hold", group),
                "ca": lambda: peers.certificates(),
                "http": lambda: peers.web().http_port,
                "https": lambda: peers.web().https_port,
                "http2": lambda: peers.web().http2_port,
                "http2-ending": lambda: peers.web().ending_port,
                "http2-ending-log": lambda: peers.web().ending_log,
                "http2-worker": lambda: peers.web().worker(),
                "certificate": lambda: peers.certificates().with_name("server.pem"),
                "key": lambda: peers.certificates().with_name("server.key"),
                "client-cpu": lambda: peers.client_cpu,
                "server-cpu": lambda: peers.server_cpu,
                "file": lambda: peers.web().file(size),
                "digest": lambda: peers.digest().port,
                "ftp": lambda: peers.ftp().port,
                "ftp-file": lambda: peers.ftp().file(size),
                "ftp-many": lambda: peers.ftp().many(size),
                "host-in-hosts": lambda: HOST_IN_HOSTS,
                "host-in-dns": lambda: HOST_IN_DNS,
            }
        )

    def __getitem__(self, name):
        return super().__getitem__(name)()


def make_certificates(directory):
    """Creates an authority and its certificate for localhost; returns the path of the authority's certificate."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=benchmark authority")
    openssl("req", "-new", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (directory / "server.ext").write_text("subjectAltName = DNS:localhost, IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "server.ext", "-out", "server.pem")
    return directory / "ca.pem"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class WebServer:
    """nginx with one worker, on the servers' CPU. The name of a file is its size."""

    CONFIGURATION = """
        daemon off; worker_processes 1; pid {root}/nginx.pid; {user}
        events {{ worker_connections 4096; multi_accept on; }}
        http {{
            access_log off; sendfile on; tcp_nodelay on; root {root}/www;
            keepalive_requests 1000000000; keepalive_timeout 600; open_file_cache max=100 inactive=600s;
            client_body_temp_path {root}/t1; proxy_temp_path {root}/t2; fastcgi_temp_path {root}/t3;
            uwsgi_temp_path {root}/t4; scgi_temp_path {root}/t5;
            ssl_certificate {root}/server.pem; ssl_certificate_key {root}/server.key;
            ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
            ssl_session_cache shared:sessions:10m; ssl_session_tickets on;
            server {{ listen 127.0.0.1:{http_port} backlog=4096; }}
            server {{ listen 127.0.0.1:{https_port} ssl backlog=4096; }}
            server {{ listen 127.0.0.1:{http2_port} ssl http2 backlog=4096; }}
            log_format ended '$connection $request_uri';
            server {{
                listen 127.0.0.1:{ending_port} ssl http2 backlog=4096; keepalive_requests 1000;
                access_log {root}/ended.log ended; location / {{ return 200 "$request_uri"; }}
            }}
        }}
    """

    def __init__(self, peers):
        self.root = peers.directory
        peers.certificates()
        (self.root / "www").mkdir()
        self.file(1024)
        self.http_port, self.https_port, self.http2_port, self.ending_port = (free_port() for _ in range(4))
        self.ending_log = self.root / "ended.log"
        configuration = self.root / "nginx.conf"
        configuration.write_text(self.CONFIGURATION.format(
            root=self.root, http_port=self.http_port, https_port=self.https_port, http2_port=self.http2_port,
            ending_port=self.ending_port, user="user root;" if os.geteuid() == 0 else ""))
        log = self.root / "nginx.log"
        self.process = peers.spawn(
            [*WITH_RUNNER, nginx_path(), "-p", str(self.root), "-e", str(log), "-c", str(configuration)],
            peers.server_cpu, stderr=subprocess.DEVNULL)
        while not answers(self.https_port):
            if self.process.poll() is not None:
                raise Unavailable(f"nginx did not start: {log.read_text().strip()}")

    def worker(self):
        """The process that serves."""
        return Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0]

    def file(self, size):
        path = self.root / "www" / str(size)
        if not path.exists():
            with open(path, "wb") as file:
                file.truncate(size)
        return f"/{size}"


class DigestServer:
    """lighttpd on the servers' CPU: /open/1024 without a login, /closed/1024 for user bench with Digest and SHA-256. Its nonces
    are valid for ten minutes."""

    CONFIGURATION = """
        server.document-root = "{root}"
        server.port = {port}
        server.bind = "127.0.0.1"
        server.errorlog = "{root}/error.log"
        server.max-keep-alive-requests = 65535
        server.max-keep-alive-idle = 600
        server.modules = ( "mod_auth", "mod_authn_file" )
        auth.backend = "htdigest"
        auth.backend.htdigest.userfile = "{root}/users"
        auth.require = ( "/closed" => (
            "method" => "digest", "algorithm" => "SHA-256", "realm" => "bench", "require" => "valid-user" ) )
    """

    def __init__(self, peers):
        root = peers.directory / "digest"
        for folder in ("open", "closed"):
            (root / folder).mkdir(parents=True)
            (root / folder / "1024").write_bytes(bytes(1024))
        secret = hashlib.sha256(b"bench:bench:open sesame").hexdigest()
        (root / "users").write_text(f"bench:bench:{secret}\n")
        self.port = free_port()
        configuration = root / "lighttpd.conf"
        configuration.write_text(self.CONFIGURATION.format(root=root, port=self.port))
        path = shutil.which("lighttpd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        if not path:
            raise Unavailable("lighttpd is not installed (Scripts/bootstrap)")
        process = peers.spawn(
            [*WITH_RUNNER, path, "-D", "-f", str(configuration)], peers.server_cpu, stderr=subprocess.DEVNULL)
        while not answers(self.port):
            if process.poll() is not None:
                raise Unavailable("lighttpd did not start")


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def nginx_path():
    path = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if not path:
        raise Unavailable("nginx is not installed (Scripts/bootstrap)")
    return path


class FTPServer:
    """vsftpd on the servers' CPU, for anonymous users. The name of a file is its size."""

    def __init__(self, peers):
        program = Path(__file__).resolve().parents[3] / ".build/peers/usr/sbin/vsftpd"
        if not program.exists():
            raise Unavailable("vsftpd is not unpacked (Scripts/bootstrap)")
        self.tree = peers.directory / "ftp"
        self.port = free_port()
        self.tree.mkdir()
        (self.tree / "up").mkdir()
        (peers.directory / "empty").mkdir()
        (self.tree / "small").mkdir()
        for number in range(2000):
            (self.tree / "small" / str(number)).write_bytes(b"x" * 1024)
        settings = {
            "background": "NO", "listen": "YES", "listen_address": "127.0.0.1", "listen_port": self.port,
            "run_as_launching_user": "YES", "secure_chroot_dir": peers.directory / "empty", "anonymous_enable": "YES",
            "local_enable": "NO", "anon_root": self.tree, "write_enable": "YES", "anon_upload_enable": "YES",
            "anon_other_write_enable": "YES", "anon_world_readable_only": "NO", "connect_from_port_20": "NO",
            "seccomp_sandbox": "NO", "isolate": "NO", "isolate_network": "NO",
            # The default user "ftp" exists only if a package created it; the server requires an existing user.
            "ftp_username": pwd.getpwuid(os.geteuid()).pw_name,
        }
        configuration = peers.directory / "vsftpd.conf"
        configuration.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        process = peers.spawn([*WITH_RUNNER, str(program), str(configuration)], peers.server_cpu)
        while not self.answers():
            if process.poll() is not None:
                raise Unavailable("vsftpd did not start")

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def file(self, size):
        path = self.tree / str(size)
        if not path.exists():
            with open(path, "wb") as file:
                file.truncate(size)
        return f"/{size}"

    def many(self, count):
        folder = self.tree / f"many-{count}"
        if not folder.exists():
            folder.mkdir()
            for number in range(count):
                (folder / f"notes-{number:06}.txt").touch()
        return count


class NameService:
    """A namespace with dnsmasq as its only name server. Users, mounts and network are separate, so it needs no privileges
    and changes nothing outside. (--no-daemon also keeps the user: the namespace has no other.)"""

    SCRIPT = """
        set -e
        ip link set lo up
        ip address add 192.0.2.1/32 dev lo # AI_ADDRCONFIG does not count loopback addresses
        for file in resolv.conf hosts nsswitch.conf; do mount --bind "$1/$file" "/etc/$file"; done
        exec setpriv --pdeathsig TERM "$2" --no-daemon --conf-file=/dev/null --log-facility=- \\
            --no-resolv --no-hosts --port=53 --listen-address=127.0.0.1 --bind-interfaces \\
            --address="/$3/127.0.0.10" --dns-forward-max=10000
    """

    def __init__(self, peers):
        dnsmasq = shutil.which("dnsmasq", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not dnsmasq:
            raise Unavailable("dnsmasq is not installed (Scripts/bootstrap)")
        root = peers.directory
        (root / "resolv.conf").write_text("nameserver 127.0.0.1\n")
        (root / "hosts").write_text(f"127.0.0.1 localhost\n127.0.0.11 {HOST_IN_HOSTS}\n")
        (root / "nsswitch.conf").write_text("hosts: files dns\n")
        self.process = peers.spawn(
            ["unshare", "--user", "--map-root-user", "--mount", "--net", "sh", "-c", self.SCRIPT, "sh",
             str(root), dnsmasq, HOST_IN_DNS], stderr=subprocess.PIPE, text=True)
        log = []
        for line in self.process.stderr:
            log.append(line)
            if "started" in line:
                return
        raise Unavailable("no name service: " + " / ".join(line.strip() for line in log))

    def prefix(self):
        return ["nsenter", "--preserve-credentials", "--user", "--mount", "--net", "--target", str(self.process.pid)]
