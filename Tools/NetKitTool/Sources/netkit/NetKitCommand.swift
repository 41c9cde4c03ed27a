import ArgumentParser
import Glibc
import NetKit

/// The `netkit` command: one verb per task.
@main
struct NetKitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netkit",
        abstract: "Transfers files, resolves names, finds services, and explains network failures.",
        discussion: """
            Exit codes; the numbers are curl's where curl has one:
              0  success
              1  any other failure
              3  the URL is malformed or not supported
              6  the name was not found
              7  the connection failed
              8  the server's response is not valid
             18  the response was cut short
             22  the server responded with status 400 or above, or refused
             23  a local file cannot be read or written
             28  timed out
             33  the server did not resume at the requested offset
             35  the TLS handshake failed
             47  too many redirects, or a redirect loop
             52  the server closed the connection without a response
             56  the connection was lost
             60  the server's certificate is not trusted
             61  the body's content coding cannot be decoded
             63  the file is larger than --max-filesize
             64  the command line is wrong
             97  proxy refused, or proxy setting invalid
            diagnose has its own codes: 0 works, 1 is broken, 2 is undetermined.

            With --json, a verb prints one JSON object, or one per line. The object of a failure has "error": its \
            "sentence", and for a network error its "domain" and "code".
            """,
        version: PackageVersions.text,
        subcommands: [
            GetCommand.self, PutCommand.self, ListCommand.self, MakeDirectoryCommand.self, RemoveCommand.self,
            MoveCommand.self, ConnectCommand.self, ResolveCommand.self, DiagnoseCommand.self, ExplainAuthCommand.self,
            TokenCommand.self,
            BrowseCommand.self, LookupCommand.self, PublishCommand.self, MonitorCommand.self, TypesCommand.self,
            DomainsCommand.self,
        ]
    )

    /// Runs the verb. A verb may find a command-line error only while it runs; its usage is then printed as well.
    static func main() async {
        StandardStreams.open()
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            ProcessArguments.hideSecrets()
            if CommandLineArguments.separated(arguments) == ["--version"] {
                Terminal.print(ShownText(lines: PackageVersions.report))
                end(.success)
            }
            var command = try parsed(arguments)
            do {
                if var verb = command as? any AsyncParsableCommand {
                    try OpenFiles.check()
                    try await verb.run()
                } else {
                    try command.run()
                }
            } catch let error as ValidationError {
                Terminal.say("Error: \(error)\nUsage: \(ShownText(lines: usageString(for: type(of: command))))")
                throw ExitCode.validationFailure
            } catch let error as OpenFiles.Exhausted {
                if arguments.contains("--json") { JSONOutput.show(["error": JSONOutput.error(error)]) }
                Terminal.say("netkit: \(error)")
                throw ExitStatus.other.exitCode
            }
        } catch {
            // Like exit(withError:), but with terminal control characters escaped: an error may quote a peer.
            let (message, code) = (
                ShownText(lines: CompletionScript.extended(fullMessage(for: error))), exitCode(for: error)
            )
            if !message.text.isEmpty {
                if code.isSuccess { Terminal.print(message) } else { Terminal.say(message) }
            }
            end(code)
        }
        end(.success)
    }

    /// Ends the program; a success without all of its output is a failure.
    private static func end(_ code: ExitCode) -> Never {
        guard code.isSuccess, let failure = Terminal.failureOfOutput else { Glibc.exit(code.rawValue) }
        Terminal.say("netkit: \(failure)")
        Glibc.exit(ExitStatus.localFile.rawValue)
    }

    /// The verb of a command line. An argument that no verb has is named before the values of the others are judged.
    private static func parsed(_ arguments: [String]) throws -> any ParsableCommand {
        let arguments = CommandLineArguments.separated(arguments)
        if let unknown = CommandLineArguments.unknownVerb(in: arguments)
            ?? CommandLineArguments.missingVerb(in: arguments)
        {
            throw ValidationError(unknown)
        }
        let verb = configuration.subcommands.first { $0.configuration.commandName == arguments.first }
        let result = Result { try parseAsRoot(arguments) }
        // The parser's help has a type of its own.
        if let verb, (try? result.get()).map({ type(of: $0) == verb }) != true,
            let unknown = CommandLineArguments.unknownOption(in: arguments, of: verb)
        {
            Terminal.say("Error: \(unknown)\nUsage: \(ShownText(lines: usageString(for: verb)))")
            throw ExitCode.validationFailure
        }
        return try result.get()
    }
}

/// The exit codes of all verbs but `diagnose`; curl's numbers where curl has one.
enum ExitStatus: Int32 {
    case other = 1
    case badURL = 3
    case nameNotFound = 6
    case notConnected = 7
    case invalidResponse = 8
    case cutShort = 18
    case serverError = 22
    case localFile = 23
    case timedOut = 28
    case notResumed = 33
    case handshakeFailed = 35
    case redirects = 47
    case noAnswer = 52
    case connectionLost = 56
    case untrustedCertificate = 60
    case undecodable = 61
    case tooLarge = 63
    case usage = 64
    case proxyRefused = 97

    var exitCode: ExitCode { ExitCode(rawValue) }

    /// The code for the failure of a stream.
    ///
    /// - Parameter response: the response head, if one arrived before the failure.
    init(_ error: StreamError, after response: HTTPResponse?) {
        if let cause = error.underlying as? HTTPAuthError {
            self = ExitStatus(cause)
            return
        }
        switch error.domain {
        case .netDB:
            let servers = (error.underlying as? ResolverError)?.servers ?? []
            self = servers.contains { $0.result == .timedOut } ? .timedOut : .nameNotFound
        case .ssl:
            self =
                error.tlsFailure == .closedWithoutNotify
                ? .cutShort : ExitStatus.isAboutTrust(error) ? .untrustedCertificate : .handshakeFailed
        case _ where error.reason == .notResumed: self = .notResumed
        case _ where error.reason == .cutShort: self = .cutShort
        case _ where error.reason == .undecodable: self = .undecodable
        case _ where error.reason == .invalidProxySettings: self = .proxyRefused
        case .socks: self = .proxyRefused
        case .http where HTTPErrorNumber.ProxyError(rawValue: error.code) != nil: self = .proxyRefused
        case .http:
            switch HTTPErrorNumber(rawValue: error.code) {
            case .badURL: self = .badURL
            case .redirectionLoop: self = .redirects
            case .parseFailure: self = .invalidResponse
            case .connectionLost: self = response == nil ? .noAnswer : .cutShort
            default: self = .connectionLost
            }
        case .ftp where (error.underlying as? FTPError)?.code == .incomplete: self = .cutShort
        case .ftp: self = .serverError
        case .posix where error.reason == .localFile || error.reason == .unansweredCall: self = .localFile
        case .posix:
            switch Int32(error.code) {
            case EINVAL where error.underlying is FTPError: self = .badURL
            case ETIMEDOUT: self = .timedOut
            case ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, ENOENT: self = .notConnected
            case ECONNRESET, EPIPE, ECONNABORTED, ENOTCONN: self = .connectionLost
            default: self = .other
            }
        default:
            self = .other
        }
    }

    /// The code for a failed lookup.
    init(_ error: ResolverError) {
        let isUnreachable =
            !error.servers.isEmpty
            && error.servers.allSatisfy { $0.result == .unreachable || $0.result == .connectionFailed }
        let isTimeout = error.code == .timedOut || error.servers.contains { $0.result == .timedOut }
        self = isUnreachable ? .notConnected : isTimeout ? .timedOut : .nameNotFound
    }

    /// The code for a failed login, or for a password store that cannot be used.
    private init(_ error: HTTPAuthError) {
        switch error.code {
        case .storeMissing, .storeUnavailable, .storeMalformed, .storeNotPrivate, .storeReadOnly, .storeLocked,
            .alreadyStored:
            self = .localFile
        case .timedOut: self = .timedOut
        default: self = .serverError
        }
    }

    /// The sentence and exit status for the failure of a verb; nil for another error, such as one in the command line.
    static func describe(
        _ error: any Error, after response: HTTPResponse? = nil
    ) -> (sentence: String, status: ExitStatus)? {
        switch error {
        case let error as StreamError: (error.description + advice(error), ExitStatus(error, after: response))
        case let error as ResolverError: ("\(error)", ExitStatus(error))
        case let error as HTTPMessageError: ("The request cannot be sent: \(error).", .badURL)
        case let error as OutputFile.Failure: (error.description, error.isTooLarge ? .tooLarge : .localFile)
        case let error as URLArgument.Invalid: (error.description, .badURL)
        case let error as PasswordTerminal.Cancelled: (error.description, .other)
        case let error as HTTPAuthError: (Terminal.sentence(error), .localFile)
        default: nil
        }
    }

    /// The next step with this tool, as a sentence to append; empty if the error names it itself.
    private static func advice(_ error: StreamError) -> String {
        switch (error.tlsFailure, error.reason) {
        case (.unknownRoot?, _), (.noRoot?, _): " With netkit, use --cacert FILE, or --trust-first-use FILE."
        case (_, .encryptedKey?): " Use --pass PHRASE, or a terminal to type it on."
        default: ""
        }
    }

    private static func isAboutTrust(_ error: StreamError) -> Bool {
        guard let failure = error.tlsFailure else { return false }
        let aboutTrust: Set<TLSFailure> = [
            .invalidChain, .badCertificate, .unknownRoot, .noRoot, .certificateExpired, .certificateNotYetValid,
            .certificateRevoked, .hostNameMismatch,
        ]
        return aboutTrust.contains(failure)
    }
}

/// The versions of NetKit's packages; `Scripts/check` compares them with the change logs.
enum PackageVersions {
    /// The current or next version of each package.
    static let all = [
        ("CFNetwork", "0.1.0"),
        ("EventLoops", "0.1.0"),
        ("FTPStream", "0.1.0"),
        ("HTTPAuth", "0.1.0"),
        ("HTTP2", "0.1.0"),
        ("HTTPMessage", "0.1.0"),
        ("HTTPStream", "0.1.0"),
        ("HostResolver", "0.1.0"),
        ("NetDiag", "0.1.0"),
        ("NetKit", "0.1.0"),
        ("ServiceDiscovery", "0.1.0"),
        ("StreamKit", "0.1.0"),
        ("WebSocketStream", "0.1.0"),
    ]

    /// The version of NetKit, then those of its packages.
    static var text: String {
        let own = all.first { $0.0 == "NetKit" }?.1 ?? ""
        let parts = all.filter { $0.0 != "NetKit" }.map { "  \($0.0) \($0.1)" }
        return (["netkit \(own)"] + parts).joined(separator: "\n")
    }

    /// The output of `netkit --version`: also whether the public suffixes are known, whose list is read for this.
    static var report: String {
        let suffixes =
            HTTPCookies.knowsPublicSuffixes
            ? "installed" : "not installed (Debian: publicsuffix); cookies for whole domains are refused"
        return "\(text)\npublic suffix list: \(suffixes)"
    }
}
