/// Avahi: multicast DNS and DNS-SD, with its own system bus, in a network namespace.
///
/// ```swift
/// let avahi = Avahi(hostName: "left", services: [.init("Printer", type: "_ipp._tcp", port: 631)], in: network.left)
/// try avahi.start()
/// print(try await avahi.browse("_http._tcp"))
/// ```
///
/// It never runs outside a namespace, because it would send to the machine's networks.
public final class Avahi: Peer {
    /// A service that the daemon publishes from its start.
    public struct Service: Sendable {
        let name: String
        let type: String
        let port: Int
        let texts: [String]

        /// Creates a service.
        public init(_ name: String, type: String, port: Int, texts: [String] = []) {
            self.name = name
            self.type = type
            self.port = port
            self.texts = texts
        }
    }

    /// `avahi-daemon`.
    public static let program = Program("avahi-daemon")
    /// The process of the server.
    public let process: PeerProcess
    private let namespace: NetworkNamespace
    private let hostName: String
    private let services: [Service]

    /// Creates a daemon that is not started yet.
    public init(hostName: String, services: [Service] = [], in namespace: NetworkNamespace) {
        self.hostName = hostName
        self.services = services
        self.namespace = namespace
        process = PeerProcess(in: namespace)
    }

    /// Starts the daemon and its bus, and returns when the host name is established.
    public func start() throws(PeerError) {
        let daemon = try Self.program.located()
        let bus = try Program("dbus-daemon").located()
        let ask = try Program("dbus-send", package: "dbus-bin").located()
        try process.start(Program("unshare", package: "util-linux"), ports: 0) { scratch, _ throws(PeerError) in
            let busFile = try scratch.write("bus.conf", Self.busConfiguration(scratch.file("bus")))
            let file = try scratch.write(
                "avahi.conf",
                """
                [server]
                host-name=\(hostName)
                allow-interfaces=eth0,eth1
                ratelimit-burst=1000
                [wide-area]
                enable-wide-area=no
                [publish]
                publish-hinfo=no
                publish-workstation=no

                """)
            for (number, service) in services.enumerated() {
                try scratch.write("services/\(number).service", Self.file(for: service))
            }
            try scratch.folder("services")
            let run = try scratch.folder("run")
            // The paths of its pid file and its services are fixed at compile time.
            let script = """
                mount -t tmpfs tmpfs /run; mkdir /run/avahi-daemon; mount --bind '\(run)' /run/avahi-daemon
                mount -t tmpfs tmpfs /etc/avahi
                mkdir /etc/avahi/services; cp '\(scratch.file("services"))'/* /etc/avahi/services/ 2>/dev/null || true
                '\(bus)' --nofork --nopidfile --config-file='\(busFile)' &
                export DBUS_SYSTEM_BUS_ADDRESS='unix:path=\(scratch.file("bus"))'
                until '\(ask)' --system --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetId; do :; done
                exec '\(daemon)' -f '\(file)' --no-drop-root --no-chroot --no-rlimits --no-proc-title
                """
            return PeerProcess.Launch(
                arguments: ["--mount", "--propagation", "private", "sh", "-ec", script], sockets: [],
                announcement: "Server startup complete")
        }
    }

    /// The address of the system bus, for `DBUS_SYSTEM_BUS_ADDRESS` in the environment of programs that use it.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running.
    public var busAddress: String {
        get throws(PeerError) { "unix:path=\(try process.folder().file("bus"))" }
    }

    /// The addresses of a name as `getaddrinfo` finds them in `program` with Debian's libnss-mdns, a module of the system's resolver
    /// that gets them from this daemon.
    ///
    /// The program runs in a mount namespace of its own, with a private `/etc/nsswitch.conf` and the daemon's socket. The module is
    /// unpacked, since installing it would change the machine's `/etc/nsswitch.conf`.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: Its arguments.
    ///   - modules: The modules that look up hosts, as in `/etc/nsswitch.conf`.
    /// - Returns: What the program prints.
    public func run(
        _ program: String, _ arguments: [String], modules: String = "files mdns_minimal [NOTFOUND=return] dns"
    ) async throws(PeerError) -> String {
        let folder = try process.folder()
        let switches = try folder.write("nsswitch.conf", "hosts: \(modules)\n")
        let unpacked = Program.unpackedFolder("")
        let script = """
            export LD_LIBRARY_PATH=$(echo '\(unpacked)'lib/*-linux-gnu '\(unpacked)'usr/lib/*-linux-gnu | tr ' ' :)
            mount --bind '\(switches)' /etc/nsswitch.conf; mount -t tmpfs tmpfs /run; mkdir /run/avahi-daemon
            mount --bind '\(folder.file("run"))' /run/avahi-daemon; exec "$0" "$@"
            """
        let command = Command(
            Program("unshare", package: "util-linux"),
            ["--mount", "--propagation", "private", "sh", "-ec", script, program] + arguments, in: namespace)
        return try await command.run(seconds: 20).text
    }

    /// The services that `avahi-browse` resolves within about a second: its lines that begin with `=`.
    public func browse(_ type: String) async throws(PeerError) -> [String] {
        try await ask("avahi-browse", ["-rpt", type]).split(separator: "\n").filter { $0.hasPrefix("=") }.map(
            String.init)
    }

    /// The IPv4 address that `avahi-resolve` finds for a host name; empty if it finds none.
    public func address(of name: String) async throws(PeerError) -> String {
        let words = try await ask("avahi-resolve", ["-4", "-n", name]).split(whereSeparator: \.isWhitespace)
        return words.count > 1 ? String(words[1]) : ""
    }

    private func ask(_ program: String, _ arguments: [String]) async throws(PeerError) -> String {
        var command = Command(Program(program, package: "avahi-utils"), arguments, in: namespace)
        command.environment["DBUS_SYSTEM_BUS_ADDRESS"] = try busAddress
        return try await command.run(seconds: 20).text
    }

    private static func file(for service: Service) -> String {
        """
        <?xml version="1.0"?><!DOCTYPE service-group SYSTEM "avahi-service.dtd">
        <service-group><name>\(service.name)</name><service><type>\(service.type)</type><port>\(service.port)</port>
        \(service.texts.map { "<txt-record>\($0)</txt-record>" }.joined())</service></service-group>
        """
    }

    private static func busConfiguration(_ path: String) -> String {
        let rules = [
            "user=\"*\"", "own=\"*\"", "send_type=\"method_call\"", "send_type=\"signal\"",
            "send_requested_reply=\"true\" send_type=\"method_return\"",
            "send_requested_reply=\"true\" send_type=\"error\"", "receive_type=\"method_call\"",
            "receive_type=\"method_return\"", "receive_type=\"error\"", "receive_type=\"signal\"",
        ]
        return """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><type>custom</type><listen>unix:path=\(path)</listen><auth>EXTERNAL</auth>
            <policy context="default">\(rules.map { "<allow \($0)/>" }.joined())</policy></busconfig>
            """
    }
}
