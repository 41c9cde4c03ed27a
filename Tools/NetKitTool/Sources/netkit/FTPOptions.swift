import ArgumentParser
import Foundation
import NetKit

/// How `netkit` talks to FTP servers.
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
            "FTP: TLS after AUTH TLS. Default: required for ftps or with options for TLS.", valueName: "WHEN"))
    var tls: TLS?

    @Flag(
        inversion: .prefixedNo,
        help:
            "FTP: the server connects to us for data (EPRT, PORT), not we to it. Default: what ftp_passive in a settings file says, else no."
    )
    var active: Bool?

    /// A client for the server of a URL, and the path in it.
    ///
    /// - Parameter user: what `-u` says, with the password if that is said, too.
    func client(
        _ address: URL, user: String?, netrc: NetrcOptions, connection: ConnectionOptions, timeout: Double? = nil
    ) async throws -> (FTPClient, FTPPath) {
        let client = try FTPClient(address)
        try logIn(client, address, user, netrc)
        if let tls, tls != .required {
            if address.scheme?.lowercased() == "ftps" {
                throw ValidationError("--tls \(tls) contradicts ftps://; write ftp:// for a session without TLS.")
            }
            try connection.requireNoTLS("leave out --tls \(tls)")
            if tls == .preferred, connection.cacert != nil {
                throw ValidationError(
                    "--cacert demands TLS, which --tls preferred does not; leave out --tls preferred.")
            }
        }
        // Without TLS to the server, the roots of --cacert are for the proxies alone.
        let configuration = tls == .off ? nil : try connection.tls()
        if var security = tls?.security {
            if let configuration { security.configuration = configuration }
            try client.set(.ftpSecurity, to: security)
        } else {
            try client.set(.tls, to: configuration)
        }
        try await client.apply(try connection.settings(), for: address)
        try client.set(.ftpUsesPassiveMode, to: active.map { !$0 })
        if let timeout { try client.set(.ftpReplyLimit, to: .seconds(timeout)) }
        return (client, try FTPPath(address))
    }

    /// `-u`, the URL, the netrc file, the terminal: whoever knows first. Without a user at all it stays anonymous.
    private func logIn(_ client: FTPClient, _ address: URL, _ login: String?, _ netrc: NetrcOptions) throws {
        let words = login?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let user = words?.first ?? address.user(percentEncoded: false)
        if let words, words.count > 1 {
            try client.set(.ftpUserName, to: words[0])
            return try client.set(.ftpPassword, to: words[1])
        }
        if words == nil, address.password() != nil { return }
        let host = address.host(percentEncoded: false) ?? ""
        let scheme = address.scheme?.lowercased() ?? "ftp"
        let port = address.port ?? (scheme == "ftps" ? 990 : 21)
        if let found = try netrc.file()?.login(forHost: host, port: port, scheme: scheme, user: user) {
            try client.set(.ftpUserName, to: found.user)
            try client.set(.ftpPassword, to: found.password.withBytes { String(decoding: $0, as: UTF8.self) })
        } else if let user {
            try client.set(.ftpUserName, to: user)
            try client.set(.ftpPassword, to: try password(of: user))
        }
    }

    private func password(of user: String) throws -> String {
        guard let password = PasswordTerminal()?.password(of: user) else {
            throw ValidationError("No password for \(user), and no terminal to ask for it: write -u USER:PASSWORD.")
        }
        return password
    }

    /// Whether a URL is of FTP.
    static func takes(_ url: String) -> Bool {
        let scheme = URL(string: url)?.scheme?.lowercased()
        return scheme == "ftp" || scheme == "ftps"
    }
}

/// What verbs that only FTP has are told.
struct FTPTarget: ParsableArguments {
    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp("Log in as USER; the password is asked for unless given.", valueName: "USER[:PASSWORD]"))
    var user: String?

    @Flag(help: "Print one JSON object about what was done.")
    var json = false

    @OptionGroup var netrc: NetrcOptions

    @OptionGroup var connection: ConnectionOptions

    @OptionGroup(title: "FTP") var ftp: FTPOptions

    func client(_ url: String) async throws -> (FTPClient, FTPPath) {
        guard FTPOptions.takes(url), let address = URL(string: url) else {
            throw ValidationError("'\(Terminal.shownURL(url))' is no URL of FTP; it begins with ftp:// or ftps://.")
        }
        do {
            return try await ftp.client(address, user: user, netrc: netrc, connection: connection)
        } catch {
            try FTPTarget.end(error, json ? ["url": JSONOutput.url(url)] : nil)
        }
    }

    /// Runs a verb. What fails is said in one sentence; with --json an object tells what it did, or `error`.
    ///
    /// - Parameters:
    ///   - facts: what the object says in either case.
    ///   - body: gives what it says when all went well.
    func run(
        _ facts: JSONOutput.Facts, _ body: @Sendable @escaping () async throws -> JSONOutput.Facts
    ) async throws {
        try await FTPTarget.run(json ? facts : nil, body)
    }

    /// The same for verbs that have other protocols, too.
    ///
    /// - Parameter facts: nil if no object is wanted.
    static func run(
        _ facts: JSONOutput.Facts?, _ body: @Sendable @escaping () async throws -> JSONOutput.Facts
    ) async throws {
        let start = ContinuousClock.now
        do {
            let found = try await withNetworkExecutor { try await body() }
            let time: JSONOutput.Facts = ["seconds": start.duration(to: .now) / .seconds(1)]
            if let facts { JSONOutput.show(facts.merging(time) { $1 }.merging(found) { $1 }) }
        } catch {
            try end(error, facts)
        }
    }

    /// Says what failed and leaves with its status.
    static func end(_ error: any Error, _ facts: JSONOutput.Facts?) throws -> Never {
        let (sentence, status): (String, ExitStatus)
        switch error {
        case let incomplete as TreeProgress.Incomplete:
            let error = JSONOutput.error(OutputFile.Failure(description: "Not everything was transferred."))
            if let facts { JSONOutput.show(facts.merging(incomplete.facts) { $1 }.merging(["error": error]) { $1 }) }
            throw ExitStatus.cutShort.exitCode
        case let error as StreamError: (sentence, status) = (error.description, ExitStatus(error, after: nil))
        case let failure as OutputFile.Failure: (sentence, status) = (failure.description, .localFile)
        case let error as HTTPAuthError:
            (sentence, status) = (Terminal.sentence(error), .localFile)
        default: throw error
        }
        if let facts { JSONOutput.show(facts.merging(["error": JSONOutput.error(error)]) { $1 }) }
        Terminal.say("netkit: \(sentence)")
        throw status.exitCode
    }
}
