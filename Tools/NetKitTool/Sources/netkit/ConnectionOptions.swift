import ArgumentParser
import Foundation
import NetKit

/// How a connection is made: the options that verbs share.
struct ConnectionOptions: ParsableArguments {
    @Option(
        name: [.customShort("x"), .customLong("proxy")],
        help: ArgumentHelp(
            """
            Go through this proxy: http, https, socks4, socks4a, socks5 or socks5h (names looked up there). Repeat it for \
            a chain, the nearest first. Default: what http_proxy and its like say, then the files \
            ~/.config/netkit/proxies and /etc/netkit/proxies.
            """, valueName: "URL"))
    var proxy: [String] = []

    @Option(
        help: ArgumentHelp(
            "Ask a proxy auto-configuration script which proxies to use: a file, or a URL of http, https or file.",
            valueName: "URL|FILE"))
    var pac: String?

    @Option(
        help: ArgumentHelp(
            "Hosts to reach without a proxy, with commas; '*' for all. Default: what no_proxy says.", valueName: "LIST")
    )
    var noproxy: String?

    @Option(
        help: ArgumentHelp(
            "Trust the roots in FILE (PEM) instead of the system's; for https proxies and the server of --pac, too.",
            valueName: "FILE"))
    var cacert: String?

    @Option(help: ArgumentHelp("The own certificate and its chain (PEM).", valueName: "FILE"))
    var cert: String?

    @Option(help: ArgumentHelp("The key of --cert (PEM), if it is in a file of its own.", valueName: "FILE"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "A public key that the server's chain must have; repeatable, then one of them.", valueName: "sha256//BASE64"
        ))
    var pin: [String] = []

    @Option(help: ArgumentHelp("The oldest version of TLS to accept: 1.2 or 1.3.", valueName: "VERSION"))
    var tlsMin: String?

    @Option(help: ArgumentHelp("The newest version of TLS to offer: 1.2 or 1.3.", valueName: "VERSION"))
    var tlsMax: String?

    @Option(
        help: ArgumentHelp(
            "Append the secrets of TLS to FILE, for Wireshark. Who has them can read it all.", valueName: "FILE"))
    var keylog: String?

    func validate() throws {
        if pac != nil, !proxy.isEmpty { throw ValidationError("--pac and --proxy exclude each other.") }
        if key != nil, cert == nil { throw ValidationError("--key needs --cert.") }
        let oldest = try tlsMin.map { try version($0, "--tls-min") }
        let newest = try tlsMax.map { try version($0, "--tls-max") }
        if let oldest, let newest, oldest > newest { throw ValidationError("--tls-min is above --tls-max.") }
        do throws(StreamError) {
            for text in proxy { _ = try ProxyServer(text) }
            for text in pin { _ = try TLSPin(text) }
        } catch {
            throw ValidationError(error.description)
        }
    }

    private func version(_ text: String, _ option: String) throws -> TLSVersion {
        switch text {
        case "1.2": return .tls12
        case "1.3": return .tls13
        default: throw ValidationError("\(option) is 1.2 or 1.3.")
        }
    }

    /// Whether an option was given that has a meaning only for a connection with TLS to the server. `--cacert` is none: it is
    /// for proxies, too.
    var demandsTLS: Bool { cert != nil || !pin.isEmpty || tlsMin != nil || tlsMax != nil || keylog != nil }

    /// Throws if an option demands TLS and the connection would have none.
    ///
    /// - Parameter remedy: what to change on the command line, as a clause.
    func requireNoTLS(_ remedy: String) throws {
        if demandsTLS {
            throw ValidationError(
                "--cert, --key, --pin, --tls-min, --tls-max and --keylog are for TLS, and there would be none; \(remedy)."
            )
        }
    }

    /// TLS as these options want it; nil if they want nothing special.
    func tls() throws -> TLSConfiguration? {
        if cacert == nil, cert == nil, pin.isEmpty, tlsMin == nil, tlsMax == nil, keylog == nil { return nil }
        var tls = try trustingTLS()
        if let cert { tls.identity = try TLSIdentity(file: cert, keyFile: key) }
        tls.pins = Set(try pin.map { try TLSPin($0) })
        if let tlsMin { tls.minimumVersion = try version(tlsMin, "--tls-min") }
        if let tlsMax { tls.maximumVersion = try version(tlsMax, "--tls-max") }
        if let keylog { tls.keyLog = try Self.keyLog(appendingTo: keylog) }
        return tls
    }

    private func trustingTLS() throws -> TLSConfiguration {
        var tls = TLSConfiguration()
        if let cacert {
            if let failure = OutputFile.Failure(reading: cacert) { throw failure }
            tls.trust = .only(file: cacert)
        }
        return tls
    }

    /// The proxies of --proxy, else of --pac, else of the system; with the hosts of --noproxy. They hold for each redirect anew.
    func settings() throws -> ProxySettings {
        var settings: ProxySettings
        if var server = try proxy.last.map({ try ProxyServer($0) }) {
            server.via = try proxy.dropLast().map { try ProxyServer($0) }
            settings = ProxySettings()
            settings.others = [server]
            settings.bypassesLoopback = false
        } else {
            settings = try pac.map { try Self.settings(by: $0) } ?? ProxySettings.system() ?? ProxySettings()
        }
        settings.tls = try trustingTLS()
        if let noproxy { settings.bypass = ProxyBypassList(noProxy: noproxy) }
        return settings
    }

    /// Settings that are up to a script; what the environment exempts stays exempt.
    private static func settings(by place: String) throws -> ProxySettings {
        try ProxyScript.checkAvailability()
        var settings = ProxySettings()
        settings.bypass = try ProxySettings.environment().bypass
        if let url = URL(string: place), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme) {
            settings.script = .url(place)
        } else {
            let path = URL(string: place).flatMap { $0.isFileURL ? $0.path : nil } ?? place
            settings.script = .text(try ProxyScript(file: path).text)
        }
        return settings
    }

    /// A file of its user alone, opened once.
    private static func keyLog(appendingTo path: String) throws -> TLSKeyLog {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw OutputFile.Failure(description: "\(path) cannot be written: \(String(cString: strerror(errno))).")
        }
        return TLSKeyLog { line in
            // To a file, and not to a terminal; nothing can be done if that fails.
            let bytes = Array("\(line)\n".utf8)
            _ = write(descriptor, bytes, bytes.count)
        }
    }
}
