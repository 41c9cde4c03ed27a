import ArgumentParser
import CredentialStores
import Foundation
@_spi(Packages) import NetKit

/// The options for TLS and data connections of FTP.
struct FTPOptions: ParsableArguments {
    enum TLS: String, ExpressibleByArgument, CaseIterable {
        case required, preferred, off

        var security: FTPSecurity {
            switch self {
            case .required: .required
            case .preferred: .preferred
            case .off: .off
            }
        }
    }

    @Option(
        help: ArgumentHelp(
            "FTP: use AUTH TLS. Default: required for ftps or with a TLS option, else off.", valueName: "WHEN"))
    var tls: TLS?

    @Flag(
        inversion: .prefixedNo,
        help:
            "FTP: the server opens the data connections (EPRT, PORT), not netkit. Default: as ftp_passive in a proxies file, else passive."
    )
    var active: Bool?

    /// A client for the server of a URL, still without proxies.
    ///
    /// - Parameter user: the value of `-u`: `USER` or `USER:PASSWORD`.
    func client(
        _ address: URL, user: String?, netrc: NetrcOptions, connection: ConnectionOptions
    ) throws -> FTPClient {
        let client = try FTPClient(address)
        try logIn(client, address, user, netrc)
        if let tls, tls != .required {
            if address.scheme?.lowercased() == "ftps" {
                throw ValidationError("--tls \(tls) contradicts ftps://; use ftp:// for a session without TLS.")
            }
            try connection.requireNoTLS("omit --tls \(tls)")
            if tls == .preferred, connection.cacert != nil {
                throw ValidationError("--cacert requires TLS, which --tls preferred does not; omit --tls preferred.")
            }
        }
        // Without TLS to the server, the roots of --cacert apply only to proxies.
        let configuration = tls == .off ? nil : try connection.tls()
        if var security = tls?.security {
            if let configuration { security.configuration = configuration }
            try client.set(.ftp(\.security), to: security)
        } else {
            try client.set(.tls, to: configuration)
        }
        try client.set(.ftp(\.usesPassiveMode), to: active.map { !$0 })
        try client.set(.ftp(\.transfersText), to: FTPPath.isText(address))
        return client
    }

    /// Sets the login: from `-u`, else the URL, else the netrc file, else the terminal. Without a user name it is anonymous.
    private func logIn(_ client: FTPClient, _ address: URL, _ login: String?, _ netrc: NetrcOptions) throws {
        let login = login.map { UserAndPassword($0) }
        let user = login?.user ?? address.user(percentEncoded: false)
        if let login, let password = login.password {
            try client.set(.ftp(\.userName), to: login.user)
            return try client.set(.ftp(\.password), to: password)
        }
        if login == nil, address.password() != nil { return }
        let host = address.host(percentEncoded: false) ?? ""
        let scheme = address.scheme?.lowercased() ?? "ftp"
        let port = address.port ?? (scheme == "ftps" ? 990 : 21)
        if let found = try netrc.file()?.login(forHost: host, port: port, scheme: scheme, user: user) {
            try client.set(.ftp(\.userName), to: found.user)
            try client.set(.ftp(\.password), to: found.password.withBytes { String(decoding: $0, as: UTF8.self) })
        } else if let user {
            try client.set(.ftp(\.userName), to: user)
            try client.set(.ftp(\.password), to: try password(of: user))
        }
    }

    private func password(of user: String) throws -> String {
        guard let terminal = PasswordTerminal() else {
            throw ValidationError("No password for \(user), and no terminal to ask for it; use -u USER:PASSWORD.")
        }
        guard let password = terminal.password(of: user) else { throw PasswordTerminal.Cancelled(user: user) }
        return password
    }

    /// The letter of `;type=` at the end of a URL's path (RFC 1738 §3.2.2), in lower case; nil without one.
    static func type(of url: URL) -> Substring? {
        let path = url.path(percentEncoded: true).lowercased()
        guard let mark = path.utf8.lastIndex(of: UInt8(ascii: ";")), path[mark...].hasPrefix(";type=") else {
            return nil
        }
        return path[mark...].dropFirst(";type=".count)
    }

    /// Whether a URL names a directory: it ends in a slash or in `;type=d`.
    static func isDirectory(_ url: URL) -> Bool { url.path().hasSuffix("/") || type(of: url) == "d" }

    /// Whether the scheme of a URL is ftp or ftps.
    static func isFTP(_ url: String) -> Bool {
        let scheme = URL(string: url)?.scheme?.lowercased()
        return scheme == "ftp" || scheme == "ftps"
    }
}

/// The options of the verbs that are for FTP only, and the running of these verbs.
struct FTPTarget: ParsableArguments {
    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp("Log in as USER; a missing password is asked for.", valueName: "USER[:PASSWORD]"))
    var user: String?

    @Flag(help: "Print one JSON object about the result.")
    var json = false

    @Option(help: ArgumentHelp("Give up after SECONDS in total.", valueName: "SECONDS"))
    var timeout: Double?

    @OptionGroup var netrc: NetrcOptions

    @OptionGroup var connection: ConnectionOptions

    @OptionGroup(title: "FTP") var ftp: FTPOptions

    func validate() throws {
        try TimeLimit.check(timeout)
    }

    /// Runs a verb and reports its result: with `--json` as an object, and a failure always as a sentence.
    ///
    /// - Parameters:
    ///   - url: the URL on the command line.
    ///   - facts: members of the object in either case, in addition to the URL.
    ///   - allowsWildcards: whether the verb compares the URL's path with what the server has; see ``FTPWildcards``. The path of
    ///     `body` is then that of the login directory.
    ///   - body: the verb, with a client for the server and the path in the URL; returns the members for a success.
    func run(
        _ url: String, _ facts: JSONOutput.Facts = [:], allowsWildcards: Bool = false,
        _ body: @Sendable @escaping (FTPClient, FTPPath) async throws -> JSONOutput.Facts
    ) async throws {
        let hasWildcards = allowsWildcards && FTPWildcards.pattern(of: url) != nil
        guard FTPOptions.isFTP(url), let address = hasWildcards ? FTPWildcards.server(of: url) : URL(string: url) else {
            let isHTTP = ["http", "https"].contains(URL(string: url)?.scheme?.lowercased() ?? "")
            let hint = isHTTP ? " For HTTP, use netkit get, with -T FILE to upload." : ""
            throw ValidationError(
                "'\(Terminal.shownURL(url))' is not an FTP URL; use ftp://HOST/PATH or ftps://.\(hint)")
        }
        if address.query() != nil { throw ValidationError("Write %3F for a question mark in the path of an FTP URL.") }
        let facts = json ? facts.merging(["url": JSONOutput.url(url)]) { $1 } : nil
        let (client, path): (FTPClient, FTPPath)
        let settings: ProxySettings
        do {
            try URLArgument.checkEscapes(url)
            path = try FTPPath(address)
            client = try ftp.client(address, user: user, netrc: netrc, connection: connection)
            settings = try connection.settings()
        } catch {
            try FTPTarget.end(error, facts)
        }
        try await FTPTarget.run(facts, within: timeout) {
            try await client.apply(settings, for: address)
            do {
                let facts = try await body(client, path)
                await client.close()
                return facts
            } catch {
                await client.close()
                throw error
            }
        }
    }

    /// Runs a verb that is not for FTP only.
    ///
    /// - Parameters:
    ///   - facts: nil for no object.
    ///   - timeout: the limit of the whole verb in seconds; nil for none.
    static func run(
        _ facts: JSONOutput.Facts?, within timeout: Double? = nil,
        _ body: @Sendable @escaping () async throws -> JSONOutput.Facts
    ) async throws {
        let start = ContinuousClock.now
        do {
            let found = try await withNetworkExecutor { try await result(of: body, within: timeout) }
            let time: JSONOutput.Facts = ["seconds": start.duration(to: .now) / .seconds(1)]
            if let facts { JSONOutput.show(facts.merging(time) { $1 }.merging(found) { $1 }) }
        } catch {
            try end(error, facts)
        }
    }

    /// The result of `body`, which is cancelled at the end of the limit.
    private static func result(
        of body: @Sendable @escaping () async throws -> JSONOutput.Facts, within timeout: Double?
    ) async throws -> JSONOutput.Facts {
        guard let timeout else { return try await body() }
        return try await withThrowingTaskGroup(of: JSONOutput.Facts.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await body() }
            group.addTask {
                try await EventLoop.shared.sleep(for: .seconds(timeout))
                throw StreamError(
                    domain: .posix, code: StreamError.timedOut.code,
                    sentence: Sentence("tool.timedOut", "Timed out after %1.", TimeLimit.text(timeout)))
            }
            return try await group.next() ?? [:]
        }
    }

    /// Reports a failure and exits with its status.
    static func end(_ error: any Error, _ facts: JSONOutput.Facts?) throws -> Never {
        if let incomplete = error as? TreeProgress.Incomplete {
            let error = JSONOutput.error(OutputFile.Failure(description: incomplete.description))
            if let facts { JSONOutput.show(facts.merging(incomplete.facts) { $1 }.merging(["error": error]) { $1 }) }
            throw ExitStatus.cutShort.exitCode
        }
        guard let (sentence, status) = ExitStatus.describe(error) else { throw error }
        if let facts { JSONOutput.show(facts.merging(["error": JSONOutput.error(error)]) { $1 }) }
        Terminal.say("netkit: \(sentence)")
        throw status.exitCode
    }
}
