import ArgumentParser
import Foundation
import NetKit

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
