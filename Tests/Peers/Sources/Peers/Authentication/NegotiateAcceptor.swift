/// An HTTP server in Python that uses the system's GSSAPI and checks channel bindings, which no packaged server does.
///
/// ```swift
/// let acceptor = NegotiateAcceptor(realm: realm)
/// try acceptor.start()
/// acceptor.url("/kerberos-bound", tls: true)
/// ```
///
/// The first part of the path selects the mechanism: `kerberos` (scheme `Negotiate`) or `ntlm` (schemes `Negotiate` and `NTLM`,
/// user `alice` of domain `PEERS`, password `open sesame`). The second part selects the behaviour:
///
/// | part | behaviour |
/// |---|---|
/// | none | accepts the channel binding of the TLS connection, if there is one |
/// | `-bound` | refuses clients without a channel binding |
/// | `-elsewhere` | expects the channel binding of another server, as in a relayed login |
/// | `-proofless` | does not send its last token |
/// | `-forged` | sends a forged last token |
///
/// The response body is `user=… bound=0|1 delegated=0|1 mechanism=… requests=N`, where N counts the requests on the connection. In
/// response to a POST, it also contains `received=N`: the total size of all bodies on the connection.
public final class NegotiateAcceptor: Peer {
    /// Debian's `python3`, for which the module is installed.
    public static let program = Program("python3", package: "python3-gssapi", in: "/usr/bin")
    /// The process of the server.
    public let process = PeerProcess()
    private let realm: KerberosRealm

    /// Creates a server, not started yet, that accepts the tickets of a running realm.
    public init(realm: KerberosRealm) {
        self.realm = realm
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        let identity = try CertificateAuthority.shared().server(.good)
        var environment = try realm.environment()
        environment["KRB5RCACHENAME"] = "none:"
        environment["KRB5_KTNAME"] = try realm.keytab
        environment["LM_COMPAT_LEVEL"] = "5"
        try process.start(Self.program, ports: 2) { [environment] scratch, ports throws(PeerError) in
            let users = try scratch.write("ntlm.users", "PEERS:alice:open sesame\n")
            let script = try scratch.write("acceptor.py", Self.script)
            return PeerProcess.Launch(
                arguments: ["-u", script, "\(ports[0])", "\(ports[1])", identity.chain, identity.key],
                environment: environment.merging(["NTLM_USER_FILE": users]) { $1 },
                sockets: ListeningSocket.tcp(ports[0]) + ListeningSocket.tcp(ports[1]))
        }
    }

    /// The URL of `path`, which must begin with a slash.
    public func url(_ path: String, tls: Bool = false) -> String {
        "\(tls ? "https" : "http")://localhost:\(tls ? process.ports.last ?? 0 : port)\(path)"
    }

    /// Whether the system's GSSAPI signs the list of mechanisms when it accepts NTLM within Negotiate, so that its own client finishes the
    /// login. That of Debian 13 (Kerberos 1.21) sends no signature, and its own client calls the end of the exchange invalid.
    public static func signsNTLM() async throws(PeerError) -> Bool {
        let result = try await Command(program, ["-c", loginWithItself]).run()
        switch result.text {
        case "signed\n": return true
        case "not signed\n": return false
        default: throw PeerError(.exited, "the login of GSSAPI with itself failed", log: result.errors + result.text)
        }
    }

    private static let loginWithItself = #"""
        import os, tempfile
        import gssapi
        from gssapi.raw import set_neg_mechs

        SPNEGO = gssapi.OID.from_int_seq("1.3.6.1.5.5.2")
        NTLM = gssapi.OID.from_int_seq("1.3.6.1.4.1.311.2.2.10")
        with tempfile.NamedTemporaryFile("w") as users:
            users.write("PEERS:alice:open sesame\n")
            users.flush()
            os.environ.update(NTLM_USER_FILE=users.name, LM_COMPAT_LEVEL="5")
            name = gssapi.Name("PEERS\\alice", gssapi.NameType.user)
            user = gssapi.raw.acquire_cred_with_password(name, b"open sesame", mechs=[SPNEGO], usage="initiate").creds
            set_neg_mechs(user, [NTLM])
            credential = gssapi.Credentials(usage="accept", mechs=[NTLM, SPNEGO])
            set_neg_mechs(credential, [NTLM])
            target = gssapi.Name("HTTP@localhost", gssapi.NameType.hostbased_service)
            client = gssapi.SecurityContext(name=target, creds=gssapi.Credentials(user), mech=SPNEGO, usage="initiate",
                                            flags=[gssapi.RequirementFlag.integrity])
            server = gssapi.SecurityContext(creds=credential, usage="accept")
            token = client.step()
            while not server.complete:
                token = server.step(token)
                try:
                    token = client.step(token)
                    # A step that fails and has a token to say so raises its error here.
                    is_signed = client.complete
                except gssapi.exceptions.GSSError:
                    if not server.complete:
                        raise
                    is_signed = False
            print("signed" if is_signed else "not signed")
        """#

    private static let script = #"""
        import base64, hashlib, socketserver, ssl, sys, threading
        from http.server import BaseHTTPRequestHandler
        import gssapi
        from gssapi.raw import ChannelBindings, set_neg_mechs

        SPNEGO = gssapi.OID.from_int_seq("1.3.6.1.5.5.2")
        MECHANISMS = {
            "kerberos": gssapi.OID.from_int_seq("1.2.840.113554.1.2.2"),
            "ntlm": gssapi.OID.from_int_seq("1.3.6.1.4.1.311.2.2.10"),
        }
        plain_port, tls_port, chain, key = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
        certificate = ssl.PEM_cert_to_DER_cert(open(chain).read().split("-----END")[0] + "-----END CERTIFICATE-----\n")
        END_POINT = b"tls-server-end-point:" + hashlib.sha256(certificate).digest()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                self.context, self.login, self.requests, self.received = None, None, 0, 0

            def do_POST(self):
                self.received += len(self.rfile.read(int(self.headers["Content-Length"])))
                self.do_GET()

            def answer(self, status, text, fields=()):
                if self.command == "POST":
                    text += f" received={self.received}"
                self.send_response(status)
                for name, value in fields:
                    self.send_header(name, value)
                body = (text + "\n").encode()
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def new_context(self, kind, how, scheme):
                mechanism = MECHANISMS[kind]
                if scheme == "NTLM":
                    credential = gssapi.Credentials(usage="accept", mechs=[mechanism])
                else:
                    credential = gssapi.Credentials(usage="accept", mechs=[mechanism, SPNEGO])
                    set_neg_mechs(credential, [mechanism])
                data = b"tls-server-end-point:" + bytes(32) if how == "elsewhere" else END_POINT
                bound = self.server.encrypted or how == "elsewhere"
                return gssapi.SecurityContext(
                    creds=credential, usage="accept",
                    channel_bindings=ChannelBindings(application_data=data) if bound else None)

            def do_GET(self):
                self.requests += 1
                kind, _, how = self.path.strip("/").partition("-")
                if kind not in MECHANISMS:
                    return self.answer(404, "unknown path")
                schemes = ["Negotiate"] if kind == "kerberos" else ["Negotiate", "NTLM"]
                challenges = [("WWW-Authenticate", scheme) for scheme in schemes]
                field = self.headers.get("Authorization")
                if field is None:
                    if self.login and self.login[0] == self.path:
                        return self.answer(200, f"{self.login[1]} requests={self.requests}")
                    return self.answer(401, "who are you?", challenges)
                scheme, _, text = field.partition(" ")
                self.login, back = None, []
                try:
                    if self.context is None:
                        self.context = self.new_context(kind, how, scheme)
                    token = self.context.step(base64.b64decode(text, validate=True))
                    if token:
                        back = [("WWW-Authenticate", f"{scheme} {base64.b64encode(token).decode()}")]
                    # A step that fails and has a token to say so raises its error here.
                    is_complete = self.context.complete
                except Exception as error:
                    self.context = None
                    words = str(error).replace("\n", " ")
                    return self.answer(401, f"refused: {words}", back or challenges)
                if not is_complete:
                    return self.answer(401, "go on", back)
                context, self.context = self.context, None
                bound = gssapi.RequirementFlag.channel_bound in context.actual_flags
                if how == "bound" and not bound:
                    return self.answer(401, "refused: the channel is not bound", challenges)
                if how == "proofless":
                    back = []
                if how == "forged":
                    back = [("WWW-Authenticate", f"{scheme} oRQwEqADCgEAowsECQEAAAAAAAAAAA==")]
                name = {mechanism: name for name, mechanism in MECHANISMS.items()}.get(context.mech, context.mech)
                delegated = 1 if context.delegated_creds else 0
                text = f"user={context.initiator_name} bound={int(bound)} delegated={delegated} mechanism={name}"
                self.login = (self.path, text)
                self.answer(200, f"{text} requests={self.requests}", back)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address, daemon_threads, request_queue_size = True, True, 64

            def __init__(self, port, encrypted):
                self.encrypted = encrypted
                super().__init__(("127.0.0.1", port), Handler)

            def finish_request(self, request, address):
                if self.encrypted:
                    request = tls.wrap_socket(request, server_side=True)
                super().finish_request(request, address)

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(chain, key)
        threading.Thread(target=Server(plain_port, False).serve_forever, daemon=True).start()
        Server(tls_port, True).serve_forever()
        """#
}
