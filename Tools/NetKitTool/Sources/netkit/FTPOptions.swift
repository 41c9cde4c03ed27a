import ArgumentParser
import Foundation
import NetKit

/// How `netkit` talks to FTP servers.
struct FTPOptions: ParsableArguments {
    enum TLS: String, ExpressibleByArgument, CaseIterable {
        case required, preferred, off
    }

    @Option(help: ArgumentHelp("FTP: TLS after AUTH TLS. Default: off for ftp, required for ftps.", valueName: "WHEN"))
    var tls: TLS?

    @Flag(help: "FTP: the server connects to us for data (EPRT, PORT), not we to it.")
    var active = false

    /// A client for the server of a URL, and the path in it.
    func client(_ address: URL, user: String?, cacert: String?, timeout: Double? = nil) throws -> (FTPClient, FTPPath) {
        let client = try FTPClient(address)
        if let user {
            let words = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            client.set(.ftpUserName, to: words[0])
            client.set(.ftpPassword, to: try words.count > 1 ? words[1] : password(of: words[0]))
        } else if let user = address.user(), address.password() == nil {
            client.set(.ftpPassword, to: try password(of: user))
        }
        switch tls {
        case .required: client.set(.ftpSecurity, to: .required)
        case .preferred: client.set(.ftpSecurity, to: .preferred)
        case .off: client.set(.ftpSecurity, to: .off)
        case nil: break
        }
        if let cacert {
            var configuration = TLSConfiguration()
            configuration.trust = .only(file: cacert)
            client.set(.tls, to: configuration)
        }
        client.set(.ftpUsesPassiveMode, to: !active)
        if let timeout { client.set(.ftpReplyLimit, to: .seconds(timeout)) }
        return (client, try FTPPath(address))
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

    @Option(help: ArgumentHelp("Trust the roots in FILE (PEM) instead of the system's.", valueName: "FILE"))
    var cacert: String?

    @OptionGroup var ftp: FTPOptions

    func client(_ url: String) throws -> (FTPClient, FTPPath) {
        guard FTPOptions.takes(url), let address = URL(string: url) else {
            throw ValidationError("'\(url)' is no URL of FTP; it begins with ftp:// or ftps://.")
        }
        do {
            return try ftp.client(address, user: user, cacert: cacert)
        } catch let error as StreamError {
            try FTPTarget.fail(error)
        }
    }

    /// Runs a verb; what fails is said in one sentence.
    func run(_ body: @Sendable @escaping () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as StreamError {
            try FTPTarget.fail(error)
        } catch let failure as OutputFile.Failure {
            Terminal.say("netkit: \(failure.description)")
            throw ExitStatus.localFile.exitCode
        }
    }

    static func fail(_ error: StreamError) throws -> Never {
        Terminal.say("netkit: \(Terminal.shown(error.description))")
        throw ExitStatus(error, after: nil).exitCode
    }
}
