import ArgumentParser
import Glibc
import NetKit

/// The tool: one verb for each thing a person does with NetKit.
@main
struct NetKitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netkit",
        abstract: "Fetches pages, looks up names, and says why it failed when it fails.",
        discussion: """
            Exit codes, curl's where it has one:
              0  done
              3  the URL cannot be requested
              6  the name was not found
              7  no connection could be made
             18  the answer was cut short
             22  the server answered with a status of 400 or more, or refused
             23  a local file cannot be read or written
             28  a time limit passed
             35  the TLS handshake failed
             47  too many redirects, or a loop
             52  the server closed without an answer
             56  the connection was lost
             60  the server's certificate cannot be trusted
             97  a proxy refused, or makes no sense
             64  the command line is wrong
              1  anything else
            diagnose has its own: 0 works, 1 is broken, 2 cannot be told.

            With --json every verb prints an object, or one a line, whose error says what failed: sentence, and where the \
            network failed domain and code.
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

    /// Runs the verb that was asked for. Wrong words that are found only on the way are told with the verb's usage.
    static func main() async {
        do {
            var command = try parseAsRoot()
            do {
                if var verb = command as? any AsyncParsableCommand { try await verb.run() } else { try command.run() }
            } catch let error as ValidationError {
                Terminal.say("Error: \(error)\nUsage: \(ShownText(lines: usageString(for: type(of: command))))")
                throw ExitCode.validationFailure
            }
        } catch {
            // As exit(withError:) does it, but for what a terminal would obey: an error may quote a peer.
            let (message, code) = (ShownText(lines: fullMessage(for: error)), exitCode(for: error))
            if !message.text.isEmpty {
                if code.isSuccess { Terminal.print(message) } else { Terminal.say(message) }
            }
            Glibc.exit(code.rawValue)
        }
    }
}

/// What the tool's exit codes mean; curl's numbers where it has one.
enum ExitStatus: Int32 {
    case other = 1
    case badURL = 3
    case nameNotFound = 6
    case notConnected = 7
    case cutShort = 18
    case serverError = 22
    case localFile = 23
    case timedOut = 28
    case handshakeFailed = 35
    case redirects = 47
    case noAnswer = 52
    case connectionLost = 56
    case untrustedCertificate = 60
    case proxyRefused = 97

    var exitCode: ExitCode { ExitCode(rawValue) }

    /// The code for a stream's failure.
    init(_ error: StreamError, after response: HTTPResponse?) {
        if let cause = error.underlying as? HTTPAuthError {
            self = ExitStatus(cause)
            return
        }
        switch error.domain {
        case .netDB:
            self = error.underlying.map { "\($0)" }?.contains("time") == true ? .timedOut : .nameNotFound
        case .ssl:
            self = ExitStatus.isAboutTrust(error) ? .untrustedCertificate : .handshakeFailed
        case .socks: self = .proxyRefused
        case .http where HTTPErrorNumber.ProxyError(rawValue: error.code) != nil: self = .proxyRefused
        case .http:
            switch HTTPErrorNumber(rawValue: error.code) {
            case .badURL: self = .badURL
            case .redirectionLoop: self = .redirects
            case .connectionLost: self = response == nil ? .noAnswer : .cutShort
            default: self = .connectionLost
            }
        case .ftp: self = .serverError
        case .posix where error.sentence.key == "file.open": self = .localFile
        case .posix:
            switch Int32(error.code) {
            case EINVAL where error.underlying is FTPError: self = .badURL
            case ETIMEDOUT: self = .timedOut
            case ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, ENOENT: self = .notConnected
            case ECONNRESET, EPIPE, ECONNABORTED: self = .connectionLost
            default: self = .other
            }
        default:
            self = .other
        }
    }

    /// The code for a login that failed.
    private init(_ error: HTTPAuthError) {
        switch error.code {
        case .storeUnavailable, .storeMalformed, .storeNotPrivate, .storeReadOnly, .storeLocked: self = .localFile
        case .timedOut: self = .timedOut
        default: self = .serverError
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

/// The versions of the packages that the tool is made of; `Scripts/check` compares them with the change logs.
enum PackageVersions {
    /// Each package with the version that it has, or is on its way to.
    static let all = [
        ("EventLoops", "0.1.0"),
        ("FTPStream", "0.1.0"),
        ("HTTPAuth", "0.1.0"),
        ("HTTPMessage", "0.1.0"),
        ("HostResolver", "0.1.0"),
        ("NetDiag", "0.1.0"),
        ("NetKit", "0.1.0"),
        ("ServiceDiscovery", "0.1.0"),
        ("StreamKit", "0.1.0"),
    ]

    /// What `netkit --version` prints: the umbrella's version, and below it those of its parts.
    static var text: String {
        let own = all.first { $0.0 == "NetKit" }?.1 ?? ""
        let parts = all.filter { $0.0 != "NetKit" }.map { "  \($0.0) \($0.1)" }
        return (["netkit \(own)"] + parts).joined(separator: "\n")
    }
}
