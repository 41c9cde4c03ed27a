/// A Kerberos realm of its own: MIT's key distribution centre, with users and services.
///
/// ```swift
/// let realm = KerberosRealm()
/// try realm.start()
/// let cache = try await realm.ticket(of: "alice")     // FILE:/…, as kinit makes it
/// let answer = try await Command("curl", "--negotiate", "-u", ":", url, environment: realm.environment(cache)).run()
/// ```
///
/// Users `alice` and `bob` have the password `open sesame`; `expired` has one that is over, `locked` may not log in.
/// Services are `HTTP/localhost` and `HTTP/other.peers.test`; the first one's key is in ``keytab``.
///
/// Nothing of the machine's own Kerberos is read or written.
public final class KerberosRealm: Peer {
    /// `krb5kdc`.
    public static let program = Program("krb5kdc", package: "krb5-kdc")
    /// The realm's name.
    public static let name = "PEERS.TEST"
    /// The running program.
    public let process: PeerProcess

    private let silentPort: Int

    /// Makes one; it has to be started.
    ///
    /// Its configuration knows two realms more: nothing listens for `GONE.TEST`, and the centre of `SILENT.TEST` is at
    /// `silentPort`, where a test lets somebody say nothing.
    public init(silentPort: Int = 1, in namespace: NetworkNamespace? = nil) {
        self.silentPort = silentPort
        process = PeerProcess(in: namespace)
    }

    /// Starts it and returns when it listens.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            try scratch.write("krb5.conf", clients(folder: scratch.path, port: ports[0]))
            try scratch.write("skew.conf", clients(folder: scratch.path, port: ports[0], skew: 1))
            try scratch.write("kdc.conf", Self.centre(folder: scratch.path, port: ports[0]))
            let environment = [
                "KRB5_CONFIG": scratch.file("krb5.conf"), "KRB5_KDC_PROFILE": scratch.file("kdc.conf"),
            ]
            var create = Command(
                Program("kdb5_util", package: "krb5-kdc"), ["create", "-s", "-r", Self.name, "-P", "master key"])
            create.environment = environment
            _ = try create.check()
            var fill = Command(Program("kadmin.local", package: "krb5-admin-server"), [])
            fill.environment = environment
            fill.input = Array(Self.principals(folder: scratch.path).utf8)
            _ = try fill.check()
            // Servers that give their rights away must still read it. The keys are good for nothing else.
            _ = try Command("chmod", "644", scratch.file("http.keytab")).check()
            return PeerProcess.Launch(
                arguments: ["-n"], environment: environment, sockets: ListeningSocket.tcp(ports[0]))
        }
    }

    /// The key of `HTTP/localhost`; any user may read the file.
    public var keytab: String { get throws(PeerError) { try process.folder().file("http.keytab") } }

    /// The key of `alice`, for a client that logs in without a person.
    public var clientKeytab: String { get throws(PeerError) { try process.folder().file("alice.keytab") } }

    /// What programs that use this realm need in their environment; `cache` is where their tickets are.
    ///
    /// With `skew` clocks may differ by a second only.
    public func environment(_ cache: String? = nil, skew: Bool = false) throws(PeerError) -> [String: String] {
        let folder = try process.folder()
        var environment = ["KRB5_CONFIG": folder.file(skew ? "skew.conf" : "krb5.conf")]
        // Without a name, the user's own cache would be taken.
        environment["KRB5CCNAME"] = cache ?? "FILE:\(folder.file("no-tickets"))"
        return environment
    }

    /// Gets a ticket of `user`, good for so many seconds, and gives the name of the cache that holds it.
    ///
    /// - Throws: ``PeerError/Code/exited`` with the words of `kinit`.
    public func ticket(
        of user: String, password: String = "open sesame", seconds: Int = 3600
    ) async throws(PeerError) -> String {
        let folder = try process.folder()
        let cache = "FILE:\(folder.path)/tickets-\(user)-\(seconds)"
        var command = Command(Program("kinit", package: "krb5-user"), ["-f", "-l", "\(seconds)s", "-c", cache, user])
        command.environment = try environment()
        command.input = Array("\(password)\n".utf8)
        let result = try await command.run()
        guard result.status == 0 else {
            throw PeerError(.exited, "kinit \(user): status \(result.status)", log: result.errors + result.text)
        }
        return cache
    }

    private func clients(folder: String, port: Int, skew: Int = 300) -> String {
        """
        [libdefaults]
            default_realm = \(Self.name)
            dns_lookup_kdc = false
            dns_lookup_realm = false
            dns_canonicalize_hostname = true
            rdns = true
            udp_preference_limit = 1
            forwardable = true
            kdc_timesync = 0
            clockskew = \(skew)
            default_keytab_name = FILE:\(folder)/http.keytab
        [realms]
            \(Self.name) = {
                kdc = 127.0.0.1:\(port)
            }
            GONE.TEST = {
                kdc = 127.0.0.1:1
            }
            SILENT.TEST = {
                kdc = 127.0.0.1:\(silentPort)
            }
        [domain_realm]
            localhost = \(Self.name)
            .gone.test = GONE.TEST

        """
    }

    private static func centre(folder: String, port: Int) -> String {
        """
        [kdcdefaults]
            kdc_listen = ""
            kdc_tcp_listen = 127.0.0.1:\(port)
        [realms]
            \(name) = {
                database_name = \(folder)/principal
                key_stash_file = \(folder)/stash
                acl_file = \(folder)/none.acl
                supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
                max_life = 1d
            }
        [logging]
            kdc = FILE:\(folder)/kdc.log
            default = FILE:\(folder)/library.log

        """
    }

    private static func principals(folder: String) -> String {
        """
        addprinc -pw "open sesame" alice
        addprinc -pw "open sesame" bob
        addprinc -pw "open sesame" -pwexpire "2020-01-01 00:00:00 UTC" expired
        addprinc -pw "open sesame" -allow_tix locked
        addprinc -randkey HTTP/localhost
        addprinc -randkey HTTP/other.peers.test
        ktadd -k \(folder)/http.keytab -norandkey HTTP/localhost
        ktadd -k \(folder)/alice.keytab -norandkey alice

        """
    }
}
