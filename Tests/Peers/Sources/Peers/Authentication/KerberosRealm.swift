/// A private Kerberos realm: MIT's key distribution centre, with users and services.
///
/// ```swift
/// let realm = KerberosRealm()
/// try realm.start()
/// let cache = try await realm.ticket(of: "alice")     // FILE:/…, created by kinit
/// let answer = try await Command("curl", "--negotiate", "-u", ":", url, environment: realm.environment(cache)).run()
/// ```
///
/// The users `alice` and `bob` have the password `open sesame`. The password of `expired` has expired, and `locked` may not log
/// in. The services are `HTTP/localhost`, whose key is in ``keytab``, and `HTTP/other.peers.test`.
///
/// The machine's own Kerberos configuration is neither read nor written.
public final class KerberosRealm: Peer {
    /// `krb5kdc`.
    public static let program = Program("krb5kdc", package: "krb5-kdc")
    /// The realm's name.
    public static let name = "PEERS.TEST"
    /// The process of the server.
    public let process: PeerProcess

    private let silentPort: Int

    /// Creates a server that is not started yet.
    ///
    /// Its configuration contains two more realms: nothing listens for `GONE.TEST`, and the key distribution centre of `SILENT.TEST`
    /// is at `silentPort`, where a test can run a server that does not answer.
    public init(silentPort: Int = 1, in namespace: NetworkNamespace? = nil) {
        self.silentPort = silentPort
        process = PeerProcess(in: namespace)
    }

    /// Starts the server and returns when it listens.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            try scratch.write("krb5.conf", clientConfiguration(folder: scratch.path, port: ports[0]))
            try scratch.write("skew.conf", clientConfiguration(folder: scratch.path, port: ports[0], skew: 1))
            try scratch.write("kdc.conf", Self.kdcConfiguration(folder: scratch.path, port: ports[0]))
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
            // Servers that drop their privileges must still be able to read it. The keys have no other use.
            _ = try Command("chmod", "644", scratch.file("http.keytab")).check()
            return PeerProcess.Launch(
                arguments: ["-n"], environment: environment, sockets: ListeningSocket.tcp(ports[0]))
        }
    }

    /// The keytab file of `HTTP/localhost`, which every user may read.
    public var keytab: String { get throws(PeerError) { try process.folder().file("http.keytab") } }

    /// The keytab file of `alice`, for a client that logs in without user interaction.
    public var clientKeytab: String { get throws(PeerError) { try process.folder().file("alice.keytab") } }

    /// The environment variables for programs that use this realm, with their tickets in `cache`.
    ///
    /// With `skew`, clocks may differ by one second only.
    public func environment(_ cache: String? = nil, skew: Bool = false) throws(PeerError) -> [String: String] {
        let folder = try process.folder()
        var environment = ["KRB5_CONFIG": folder.file(skew ? "skew.conf" : "krb5.conf")]
        // Without a name, Kerberos would use the user's own cache.
        environment["KRB5CCNAME"] = cache ?? "FILE:\(folder.file("no-tickets"))"
        return environment
    }

    /// Gets a ticket for `user`, valid for `seconds`, and returns the name of the cache that contains it.
    ///
    /// - Throws: ``PeerError/Code/exited`` with the output of `kinit`.
    public func ticket(
        of user: String, password: String = "open sesame", seconds: Int = 3600
    ) async throws(PeerError) -> String {
        let (command, cache) = try login(user, password, seconds)
        let result = try await command.run()
        guard result.status == 0 else {
            throw PeerError(.exited, "kinit \(user): status \(result.status)", log: result.errors + result.text)
        }
        return cache
    }

    /// Gets a ticket for `user` and returns the environment variables for programs that use it. Blocks the thread meanwhile.
    ///
    /// - Throws: ``PeerError/Code/exited`` with the output of `kinit`.
    public func environment(ofUser user: String) throws(PeerError) -> [String: String] {
        let (command, cache) = try login(user, "open sesame", 3600)
        _ = try command.check()
        return try environment(cache)
    }

    private func login(_ user: String, _ password: String, _ seconds: Int) throws(PeerError) -> (Command, String) {
        let folder = try process.folder()
        let cache = "FILE:\(folder.path)/tickets-\(user)-\(seconds)"
        var command = Command(Program("kinit", package: "krb5-user"), ["-f", "-l", "\(seconds)s", "-c", cache, user])
        command.environment = try environment()
        command.input = Array("\(password)\n".utf8)
        return (command, cache)
    }

    private func clientConfiguration(folder: String, port: Int, skew: Int = 300) -> String {
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

    private static func kdcConfiguration(folder: String, port: Int) -> String {
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
