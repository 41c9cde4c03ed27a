/// A Secret Service (org.freedesktop.secrets) on a private session bus, separate from the bus of the user that runs the tests.
///
/// ```swift
/// let ring = KeyRing(.gnome)
/// try ring.start()
/// try await ring.run("secret-tool", "lookup", "server", "example.test")
/// ```
public final class KeyRing: Peer {
    /// The implementation of the service.
    public enum Keeper: Sendable, Hashable {
        /// gnome-keyring, with an unlocked key ring. It cannot show windows.
        case gnome
        /// A Python service with its own D-Bus implementation, which behaves as its moods say.
        case scripted(Set<Mood>)
        /// No service, only the bus.
        case missing
    }

    /// A deviation of the scripted service from a correct one with an unlocked key ring.
    public enum Mood: String, Sendable {
        /// Does not support encryption of secrets on the bus.
        case plain
        /// The key ring is locked until its prompt is shown, which unlocks it.
        case locked
        /// The user declines each prompt.
        case declining
        /// The user does not react to prompts.
        case absent
        /// Does not answer calls that read or write secrets.
        case silent
        /// Has no default key ring.
        case homeless
        /// Answers calls with values of wrong types.
        case confused
    }

    /// `dbus-daemon`.
    public static let program = Program("dbus-daemon")
    /// The process of the bus, and of the service below it.
    public let process = PeerProcess()
    private let keeper: Keeper

    /// Creates a service that is not started yet.
    public init(_ keeper: Keeper = .gnome) {
        self.keeper = keeper
    }

    /// Starts the bus and the service, and returns when the service answers.
    public func start() throws(PeerError) {
        let bus = try Self.program.located()
        let ask = try Program("dbus-send", package: "dbus-bin").located()
        let keyring = try Program("gnome-keyring-daemon", package: "gnome-keyring").located()
        let python = try Program("python3", package: "python3-secretstorage", in: "/usr/bin").located()
        try process.start(Program("sh", package: "dash"), ports: 0) { scratch, _ throws(PeerError) in
            let address = "unix:path=\(scratch.file("bus"))"
            let configuration = try scratch.write("bus.conf", Self.configuration(address))
            let script = try scratch.write("service.py", Self.service)
            try scratch.folder("run", mode: 0o700)
            let moods: [Mood] = if case .scripted(let moods) = keeper { Array(moods) } else { [] }
            // They end with the shell, even if the shell ends only with the tests.
            let own = "setpriv --pdeathsig TERM"
            let password = try scratch.write("password", "open sesame", mode: 0o600)
            // A newline at the end would be part of the password, and an empty password would create no key ring.
            let start =
                switch keeper {
                case .gnome:
                    """
                    \(own) '\(keyring)' --foreground --components=secrets --unlock \
                        --control-directory="$XDG_RUNTIME_DIR/keyring" <'\(password)' &
                    until '\(ask)' --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets \
                        org.freedesktop.Secret.Service.ReadAlias string:default | grep -q collection/; do :; done
                    echo the keeper is ready
                    """
                case .scripted: "\(own) '\(python)' -u '\(script)' \(moods.map(\.rawValue).joined(separator: " ")) &"
                case .missing: "echo the keeper is ready"
                }
            let lines = """
                \(own) '\(bus)' --nofork --nopidfile --config-file='\(configuration)' &
                until '\(ask)' --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetId; do :; done
                \(start)
                wait
                """
            return PeerProcess.Launch(
                arguments: ["-c", lines], environment: Self.environment(scratch), sockets: [],
                announcement: "the keeper is ready")
        }
    }

    /// The environment variables for programs that use the service.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running.
    public var environment: [String: String] {
        get throws(PeerError) { Self.environment(try process.folder()) }
    }

    /// The address of the bus.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running.
    public var busAddress: String {
        get throws(PeerError) { "unix:path=\(try process.folder().file("bus"))" }
    }

    /// Runs a program that uses the service, such as `secret-tool`, and returns its output, followed by its errors.
    @discardableResult
    public func run(_ name: String, _ arguments: String..., input: String = "") async throws(PeerError) -> String {
        let package = ["secret-tool": "libsecret-tools", "dbus-send": "dbus-bin", "python3": "python3-secretstorage"][
            name]
        let folder = name == "python3" ? "/usr/bin" : nil
        var command = Command(Program(name, package: package, in: folder), arguments, input: Array(input.utf8))
        command.environment = try environment
        let result = try await command.run(seconds: 20)
        return result.text + result.errors
    }

    /// Locks gnome-keyring's key ring.
    public func lock() async throws(PeerError) {
        try await run(
            "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets",
            "org.freedesktop.Secret.Service.Lock", "array:objpath:/org/freedesktop/secrets/collection/login")
    }

    private static func environment(_ scratch: ScratchFolder) -> [String: String] {
        [
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(scratch.file("bus"))", "HOME": scratch.path,
            "XDG_RUNTIME_DIR": scratch.file("run"), "XDG_DATA_HOME": scratch.file("data"),
            "XDG_CACHE_HOME": scratch.file("cache"), "XDG_CONFIG_HOME": scratch.file("config"),
        ]
    }

    private static func configuration(_ address: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig><type>session</type><listen>\(address)</listen><auth>EXTERNAL</auth>
        <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
        <allow own="*"/></policy></busconfig>
        """
    }

    private static let service = #"""
        import hashlib, hmac, os, sys, time
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        from jeepney import HeaderFields, MessageType, message_bus, new_error, new_method_return, new_signal, DBusAddress
        from jeepney.io.blocking import open_dbus_connection

        P = int("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3"
                "CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5"
                "AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)
        ROOT, RING, PROMPT = "/org/freedesktop/secrets", "/org/freedesktop/secrets/collection/one", "/prompt/1"
        NAME = "org.freedesktop.Secret."
        moods = set(sys.argv[1:])
        locked = "locked" in moods
        items, sessions, clock = {}, {}, 0

        def seal(path, secret):
            key = sessions[path]
            if key is None:
                return (path, b"", secret, "text/plain")
            iv, pad = os.urandom(16), 16 - len(secret) % 16
            c = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
            return (path, iv, c.update(secret + bytes([pad] * pad)) + c.finalize(), "text/plain")

        def unseal(path, iv, value, kind):
            key = sessions[path]
            if key is None:
                return value
            c = Cipher(algorithms.AES(key), modes.CBC(iv)).decryptor()
            plain = c.update(value) + c.finalize()
            return plain[:-plain[-1]]

        class Refused(Exception):
            pass

        def answer(member, path, body):
            """Signature and body of the reply."""
            global locked, clock
            if member == "OpenSession":
                algorithm, (_, theirs) = body
                session = f"/session/{len(sessions)}"
                if algorithm == "plain":
                    sessions[session] = None
                    return "vo", (("s", ""), session)
                if "plain" in moods:
                    raise Refused("org.freedesktop.DBus.Error.NotSupported")
                x = int.from_bytes(os.urandom(128), "big") % P
                shared = pow(int.from_bytes(theirs, "big"), x, P).to_bytes(128, "big")
                prk = hmac.new(bytes(32), shared, hashlib.sha256).digest()
                sessions[session] = hmac.new(prk, b"\1", hashlib.sha256).digest()[:16]
                return "vo", (("ay", pow(2, x, P).to_bytes(128, "big")), session)
            if member == "ReadAlias":
                return "o", ("/" if "homeless" in moods else RING,)
            if member == "SearchItems":
                found = [p for p, i in items.items() if body[0].items() <= i["attributes"].items()]
                return "aoao", (([], found) if locked else (found, []))
            if member == "GetAll":
                i = items[path]
                return "a{sv}", ({"Attributes": ("a{ss}", i["attributes"]), "Label": ("s", i["label"]),
                                  "Locked": ("b", locked), "Modified": ("t", i["modified"])},)
            if member == "Get":
                return "v", (("b", locked),)
            if member == "Unlock":
                return "aoo", (([], PROMPT) if locked else (body[0], "/"))
            if member == "Prompt":
                if "absent" not in moods:
                    locked = "declining" in moods
                    connection.send(new_signal(DBusAddress(PROMPT, interface=NAME + "Prompt"), "Completed",
                                               "bv", (locked, ("ao", []))))
                return None, ()
            if member == "Dismiss":
                return None, ()
            if locked:
                raise Refused(NAME + "Error.IsLocked")
            if "silent" in moods:
                return None
            clock += 1
            if member == "CreateItem":
                properties, secret, replace = body
                new = f"{RING}/{clock}"
                items[new] = {"attributes": properties[NAME + "Item.Attributes"][1],
                              "label": properties[NAME + "Item.Label"][1], "secret": unseal(*secret), "modified": clock}
                return "oo", (new, "/")
            if member == "GetSecret":
                return "(oayays)", (seal(body[0], items[path]["secret"]),)
            if member == "SetSecret":
                items[path].update(secret=unseal(*body[0]), modified=clock)
                return None, ()
            if member == "Set":
                items[path]["attributes"] = body[2][1]
                return None, ()
            if member == "Delete":
                del items[path]
                return "o", ("/",)
            raise Refused("org.freedesktop.DBus.Error.UnknownMethod")

        connection = open_dbus_connection()
        connection.send_and_get_reply(message_bus.RequestName("org.freedesktop.secrets"))
        print("the keeper is ready")
        while True:
            message = connection.receive()
            if message.header.message_type != MessageType.method_call:
                continue
            fields = message.header.fields
            try:
                result = answer(fields[HeaderFields.member], fields[HeaderFields.path], message.body)
                if "confused" in moods and result:
                    result = ("as", (["what?"],))
                if result:
                    connection.send(new_method_return(message, result[0], result[1]))
            except Refused as refusal:
                connection.send(new_error(message, str(refusal), "s", ("as the mood says",)))
        """#
}
