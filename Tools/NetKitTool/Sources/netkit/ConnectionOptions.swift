import ArgumentParser
import Foundation
@_spi(Packages) import NetKit

/// The options for proxies and TLS that several verbs share.
struct ConnectionOptions: ParsableArguments {
    @Option(
        name: [.customShort("x"), .customLong("proxy")],
        help: ArgumentHelp(
            """
            Use this proxy: http, https, socks4, socks4a, socks5 or socks5h (the proxy resolves names). Repeat it for a \
            chain, nearest first; '' is for none. Default: http_proxy, https_proxy, ftp_proxy, all_proxy, then the files \
            ~/.config/netkit/proxies and /etc/netkit/proxies.
            """, valueName: "URL"))
    var proxy: [String] = []

    @Option(
        help: ArgumentHelp(
            "Let a proxy auto-configuration script choose the proxies: a file, or an http, https or file URL.",
            valueName: "URL|FILE"), completion: .file())
    var pac: String?

    @Option(
        help: ArgumentHelp(
            "Comma-separated hosts to reach directly; '*' for all. Default: no_proxy, also with -x and --pac, and without them this machine.",
            valueName: "LIST"))
    var noproxy: String?

    @Flag(
        name: .customLong("proxy-http2"),
        help:
            "Let https proxies choose HTTP/2 for tunnels. Without it, and for requests that they receive, HTTP/1.1 is used."
    )
    var proxyHTTP2 = false

    @Option(
        help: ArgumentHelp(
            "Trust the root certificates in FILE (PEM) instead of the system's, also for https proxies and --pac.",
            valueName: "FILE"), completion: .file())
    var cacert: String?

    @Flag(
        name: [.customShort("k"), .long],
        help:
            "Do not verify the server's certificate: anyone on the network can read and change the transfer. For the URL's own host only."
    )
    var insecure = false

    @Option(
        help: ArgumentHelp(
            "Trust the key that a host has on first use, and add it to FILE; refuse another key later. Needs no roots.",
            valueName: "FILE"), completion: .file())
    var trustFirstUse: String?

    @Option(
        name: [.customShort("E"), .long],
        help: ArgumentHelp("Client certificate and chain (PEM).", valueName: "FILE"), completion: .file())
    var cert: String?

    @Option(
        help: ArgumentHelp("The private key of --cert (PEM), if it is in another file.", valueName: "FILE"),
        completion: .file())
    var key: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The pass phrase of an encrypted --key: text, or @FILE. Default: asked for on the terminal.",
            valueName: "PHRASE"), completion: .file())
    var pass: String?

    @Option(
        help: ArgumentHelp(
            "Require this public key in the server's chain; if repeated, one of them.", valueName: "sha256//BASE64"))
    var pin: [String] = []

    @Option(
        help: ArgumentHelp("Oldest TLS version to accept: 1.2 or 1.3.", valueName: "VERSION"),
        completion: .list(["1.2", "1.3"]))
    var tlsMin: String?

    @Option(
        help: ArgumentHelp("Newest TLS version to offer: 1.2 or 1.3.", valueName: "VERSION"),
        completion: .list(["1.2", "1.3"]))
    var tlsMax: String?

    @Option(
        help: ArgumentHelp(
            "Append the TLS secrets to FILE, for Wireshark. Anyone with the file can decrypt the traffic.",
            valueName: "FILE"), completion: .file())
    var keylog: String?

    func validate() throws {
        if pac != nil, !proxy.isEmpty { throw ValidationError("--pac and --proxy cannot be combined.") }
        if key != nil, cert == nil { throw ValidationError("--key requires --cert.") }
        if pass != nil, cert == nil { throw ValidationError("--pass requires --cert.") }
        let trusts = [
            ("--insecure", insecure), ("--trust-first-use", trustFirstUse != nil), ("--cacert", cacert != nil),
        ]
        .filter(\.1).map(\.0)
        if insecure || trustFirstUse != nil, trusts.count > 1 {
            throw ValidationError("\(trusts.joined(separator: " and ")) cannot be combined.")
        }
        let oldest = try tlsMin.map { try version($0, "--tls-min") }
        let newest = try tlsMax.map { try version($0, "--tls-max") }
        if let oldest, let newest, oldest > newest { throw ValidationError("--tls-min must not be above --tls-max.") }
        do throws(StreamError) {
            for text in proxy where proxy != [""] { _ = try ProxyServer(text) }
            for text in pin { _ = try TLSPin(text) }
        } catch {
            throw ValidationError(error.description)
        }
    }

    private func version(_ text: String, _ option: String) throws -> TLSVersion {
        switch text {
        case "1.2": return .tls12
        case "1.3": return .tls13
        default: throw ValidationError("\(option) must be 1.2 or 1.3.")
        }
    }

    /// The given options for proxies.
    var proxyNames: [String] {
        [
            ("--proxy", !proxy.isEmpty), ("--pac", pac != nil), ("--noproxy", noproxy != nil),
            ("--proxy-http2", proxyHTTP2),
        ].filter(\.1).map(\.0)
    }

    /// Whether an option for TLS was given.
    var configuresTLS: Bool { cacert != nil || demandsTLS }

    /// The given options that have no meaning for a server.
    var clientNames: [String] {
        [
            ("--cacert", cacert != nil), ("--insecure", insecure), ("--trust-first-use", trustFirstUse != nil),
            ("--pin", !pin.isEmpty),
        ].filter(\.1).map(\.0)
    }

    /// Whether an option was given that has a meaning only with TLS to the server. `--cacert` is not one of them, since it
    /// applies to proxies too.
    var demandsTLS: Bool {
        cert != nil || !pin.isEmpty || tlsMin != nil || tlsMax != nil || keylog != nil || insecure
            || trustFirstUse != nil
    }

    /// Throws if an option demands TLS; for connections without TLS.
    ///
    /// - Parameter remedy: what to change on the command line, as an imperative.
    func requireNoTLS(_ remedy: String) throws {
        if demandsTLS {
            throw ValidationError(
                "--cert, --key, --pin, --tls-min, --tls-max, --keylog, --insecure and --trust-first-use require TLS, which this connection does not use: "
                    + "\(remedy).")
        }
    }

    /// The TLS configuration of these options; nil for the default.
    func tls() throws -> TLSConfiguration? {
        if !configuresTLS { return nil }
        var tls = try trustingTLS()
        if insecure {
            Terminal.say("netkit: warning: --insecure: the server's certificate is not verified.")
            tls.verification = .insecureNone
        }
        if let trustFirstUse { try FirstUseTrust(path: trustFirstUse).apply(to: &tls) }
        if let cert { tls.identity = try identity(cert) }
        tls.pins = Set(try pin.map { try TLSPin($0) })
        try applyVersionsAndLog(to: &tls)
        return tls
    }

    /// The TLS configuration of a server with `--cert`; nil without it.
    func serverTLS() throws -> TLSConfiguration? {
        guard let cert else { return nil }
        var tls = TLSConfiguration(server: try identity(cert))
        try applyVersionsAndLog(to: &tls)
        return tls
    }

    private func applyVersionsAndLog(to tls: inout TLSConfiguration) throws {
        if let tlsMin { tls.minimumVersion = try version(tlsMin, "--tls-min") }
        if let tlsMax { tls.maximumVersion = try version(tlsMax, "--tls-max") }
        if let keylog { tls.keyLog = try Self.keyLog(appendingTo: keylog) }
    }

    /// The certificate and key of `--cert` and `--key`. The pass phrase of its key is asked for if it is needed and not given.
    private func identity(_ cert: String) throws -> TLSIdentity {
        var phrase = pass
        if let pass, pass.hasPrefix("@") {
            let path = String(pass.dropFirst())
            if let failure = OutputFile.Failure(reading: path) { throw failure }
            let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
            phrase = String(text.prefix { $0 != "\n" && $0 != "\r\n" })
        }
        do throws(StreamError) {
            return try TLSIdentity(file: cert, keyFile: key, password: phrase)
        } catch {
            guard phrase == nil, error.reason == .encryptedKey,
                let typed = PasswordTerminal()?.secret("Pass phrase of \(key ?? cert): ")
            else { throw error }
            return try typed.withBytes { bytes in
                try TLSIdentity(file: cert, keyFile: key, password: String(decoding: bytes, as: UTF8.self))
            }
        }
    }

    private func trustingTLS() throws -> TLSConfiguration {
        var tls = TLSConfiguration()
        if let cacert {
            if let failure = OutputFile.Failure(reading: cacert) { throw failure }
            try Self.checkRoots(cacert)
            tls.trust = .only(file: cacert)
        }
        return tls
    }

    /// Checks a file of roots, and warns of those that cannot be read. A pipe can be read only once, and is not checked.
    ///
    /// - Throws: the reason why the file has no certificates.
    private static func checkRoots(_ path: String) throws(OutputFile.Failure) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            if status.st_mode & S_IFMT == S_IFDIR { throw OutputFile.Failure(description: "\(path) is a folder.") }
            return
        }
        guard let file = FileHandle(forReadingAtPath: path) else { return }
        defer { try? file.close() }
        let text = (try? file.read(upToCount: 16 << 20)) ?? Data()
        let labels = ["", "TRUSTED ", "X509 "].map { Data("-----BEGIN \($0)CERTIFICATE-----".utf8) }
        guard labels.contains(where: { text.range(of: $0) != nil }) else {
            throw OutputFile.Failure(description: "\(path) contains no certificate (PEM).")
        }
        for number in Certificate.unreadableBlocks(in: Array(text)) {
            Terminal.warn("\(path): certificate \(number) cannot be read, and is not trusted.")
        }
    }

    /// The proxies of `--proxy`, else of `--pac`, else of the system, with the exemptions of `--noproxy`. They apply anew to
    /// each redirect.
    ///
    /// - Parameters:
    ///   - usesTunnels: whether HTTP proxies establish tunnels for http URLs as well. Those of a script do not.
    ///   - user: the login for SOCKS proxies whose URL has none: they ask for it before any request.
    func settings(usesTunnels: Bool = false, user: UserAndPassword? = nil) throws -> ProxySettings {
        var settings: ProxySettings
        if proxy == [""] {
            settings = ProxySettings()
        } else if var server = try proxy.last.map({ try ProxyServer($0) }) {
            server.via = try proxy.dropLast().map { try ProxyServer($0) }
            settings = ProxySettings()
            settings.others = [server]
            settings.bypassesLoopback = false
            settings.bypass = try Self.environmentBypass()
        } else {
            settings = try pac.map { try Self.settings(by: $0) } ?? ProxySettings.system() ?? ProxySettings()
        }
        for list in [\ProxySettings.http, \.https, \.ftp, \.others] {
            for index in settings[keyPath: list].indices {
                if usesTunnels { settings[keyPath: list][index].usesTunnels = true }
                Self.setLogin(user, of: &settings[keyPath: list][index])
            }
        }
        settings.tls = try trustingTLS()
        if proxyHTTP2 { settings.tls.applicationProtocols = ["h2", "http/1.1"] }
        if let noproxy {
            settings.bypass = ProxyBypassList(noProxy: noproxy)
            settings.bypassesLoopback = false
        }
        Self.warn(of: settings)
        return settings
    }

    private static func setLogin(_ login: UserAndPassword?, of server: inout ProxyServer) {
        switch server.kind {
        case .http, .https: return
        case .socks4, .socks4a, .socks5, .socks5h: break
        }
        guard let login, server.user == nil else { return }
        server.user = login.user
        // SOCKS 4 has no passwords.
        if server.kind == .socks5 || server.kind == .socks5h { server.password = login.password }
    }

    /// Names what exempts no host from the proxies although the user wrote it for that: the traffic goes to the proxy.
    private static func warn(of settings: ProxySettings) {
        let hasProxy = [settings.http, settings.https, settings.ftp, settings.others].contains { !$0.isEmpty }
        for element in settings.bypass.unreadable where hasProxy {
            Terminal.warn("'\(element)' is not a host, and exempts none from the proxy. Separate hosts by commas.")
        }
    }

    /// The exemptions of the environment.
    private static func environmentBypass() throws -> ProxyBypassList {
        let variables = ProcessInfo.processInfo.environment.filter { $0.key.lowercased() == "no_proxy" }
        return try ProxySettings.environment(variables).bypass
    }

    /// The settings for a proxy script, with the exemptions of the environment.
    ///
    /// - Parameter script: a URL or the path of a file.
    private static func settings(by script: String) throws -> ProxySettings {
        try ProxyScript.checkAvailability()
        var settings = ProxySettings()
        // The script decides about every host.
        settings.bypassesLoopback = false
        settings.bypass = try environmentBypass()
        if let url = URL(string: script), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme) {
            settings.script = .url(script)
        } else {
            let path = URL(string: script).flatMap { $0.isFileURL ? $0.path : nil } ?? script
            settings.script = .text(try ProxyScript(file: path).text)
        }
        return settings
    }

    /// A key log that appends to a file. A new file is readable by its user only.
    private static func keyLog(appendingTo path: String) throws -> TLSKeyLog {
        do throws(WritableFile.Failure) {
            let file = try WritableFile(path, permissions: 0o600, appends: true)
            return TLSKeyLog { line in
                // A failed write loses the line: there is no caller to report it to.
                try? file.write(Array("\(line)\n".utf8).span.bytes)
            }
        } catch {
            throw OutputFile.Failure(writing: path, error)
        }
    }
}
